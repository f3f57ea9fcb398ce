// One instance of the simulator in Node, for tests.
import fs from "node:fs";

export class Instance {
    constructor(bytes, Controller = null) {
        this.controllers = [];
        this.Controller = Controller;
        const tell = (number, kind, at) => this.tell(number, kind, new Float64Array(this.exports.memory.buffer, at, 20));
        const module = bytes instanceof WebAssembly.Module ? bytes : new WebAssembly.Module(bytes);
        this.exports = new WebAssembly.Instance(module, { page: { tell } }).exports;
        this.exports.begin();
    }

    // Passes an event of a controller to its object; writes its window and threshold back.
    tell(number, kind, event) {
        if (kind === 0) this.controllers[number] = new this.Controller(event);
        else this.controllers[number].on(kind, event);
        event[0] = this.controllers[number].cwnd;
        event[1] = this.controllers[number].ssthresh;
        return 0;
    }

    #text(at, length) {
        return new TextDecoder().decode(new Uint8Array(this.exports.memory.buffer, at, length));
    }

    // Calls `name` with a request. Throws with the message of a panic.
    call(name, request = {}, ...values) {
        const bytes = new TextEncoder().encode(JSON.stringify(request));
        const at = this.exports.buffer(bytes.length);
        new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
        try {
            return this.exports[name](...values);
        } catch (error) {
            error.message += `: ${this.#text(this.exports.failed(), this.exports.failed_length())}`;
            throw error;
        }
    }

    get answer() {
        return this.#text(this.exports.answer(), this.exports.answer_length());
    }

    get data() {
        return new Float64Array(this.exports.memory.buffer, this.exports.data(), this.exports.data_length()).slice();
    }

    column(number, Type) {
        return new Type(this.exports.memory.buffer, this.exports.column(number), this.exports.column_length(number)).slice();
    }

    // Runs a scenario to its end. Returns its outcome as text.
    run(request) {
        if (this.call("open", request)) throw new Error(JSON.parse(this.answer).full);
        while (!this.exports.advance(1e15));
        this.exports.outcome();
        return this.answer;
    }
}

export const wasm = new WebAssembly.Module(fs.readFileSync(new URL("../ackclock.wasm", import.meta.url)));
