/** The bytes of the core. */
import core from 'virtual:core';

export const wasm = async (): Promise<ArrayBuffer> => core;
