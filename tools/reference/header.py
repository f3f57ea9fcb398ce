"""The interface of controllers as the C header `ackclock.h`, from the tables of the crate cc."""

from __future__ import annotations

import textwrap
from typing import Any

from ackclock.base.models import interface
from interface import MADE

VERSION = (1, 1)
"""As `VERSION` of crates/foreign/src/lib.rs; tests/test_header.py compares."""
TYPES = {"number": "double", "count": "uint64_t", "flag": "uint64_t", "word": "uint64_t", "time": "int64_t"}
NONE = {"number": "NaN", "count": "UINT64_MAX", "word": "UINT64_MAX", "time": "-1"}

HEAD = f"""\
/* Congestion controllers in C, as a native library or as WebAssembly. {MADE}
   Licence: Apache-2.0 OR MIT.

   Every field has eight bytes at a multiple of eight, little-endian, so a struct is the same in both. `size` is the
   number of bytes that the caller has filled in: a later version adds fields at the end. Windows are in segments,
   times in picoseconds of simulated time.

   A function keeps no pointer to its arguments, calls nothing of the program, starts no threads and reads no clock. */
#ifndef ACKCLOCK_H
#define ACKCLOCK_H

#include <stdint.h>

#define ACKCLOCK_ABI_MAJOR {VERSION[0]}
#define ACKCLOCK_ABI_MINOR {VERSION[1]}

/* Before each function of a controller: it is visible outside the library or the module. */
#if defined(_WIN32)
#define ACKCLOCK_EXPORT __declspec(dllexport)
#else
#define ACKCLOCK_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {{
#endif
"""
TAIL = """\
#ifdef __cplusplus
}
#endif
#endif
"""


def structs() -> list[dict[str, Any]]:
    """The structs: `class`, `about`, `fields`; each once, the answers last."""
    table = interface()
    classes = [table["flow"] | {"class": "FlowInfo"}, *(method for method in table["methods"] if method["class"])]
    about = "The answers of a controller, as it gave them last: a function changes what it wants to change."
    return [*classes, {"class": "Decision", "about": about, "fields": table["answers"]}]


def field_name(field: dict[str, Any]) -> str:
    """The name of a field in C: of a time that in picoseconds."""
    if field["kind"] == "time":
        return str(field["exact"] or field["name"].removesuffix("_s") + "_ps")
    return str(field["name"])


def snake(name: str) -> str:
    """The name of a class in C."""
    return "".join(("_" if letter.isupper() and place else "") + letter.lower() for place, letter in enumerate(name))


def _comment(text: str, indent: str = "  ") -> str:
    lines = textwrap.wrap(text, 112, initial_indent=f"{indent}/* ", subsequent_indent=f"{indent}   ")
    return "\n".join(lines) + " */"


def _field(field: dict[str, Any]) -> list[str]:
    text = field["doc"]
    if field["kind"] == "time":
        text += " Picoseconds."
    if field["kind"] == "word":
        text += f" ACKCLOCK_{field_name(field).upper()}_..."
    if field["optional"] or (field["kind"] == "time" and "required" in field):
        text += f" {NONE[field['kind']]}: none."
    return [_comment(text), f"  {TYPES[field['kind']]} {field_name(field)};"]


def _words() -> list[str]:
    """The constants of fields that are one of some words."""
    lines: dict[str, str] = {}
    for of in structs():
        for field in of["fields"]:
            if field["words"]:
                name = field_name(field).upper()
                words = ", ".join(f"ACKCLOCK_{name}_{word.upper()}" for word in field["words"])
                lines.setdefault(name, f"enum {{ {words} }};")
    return list(lines.values())


def _functions() -> list[str]:
    lines = [
        "const char *ackclock_controllers(void); /* names, separated by commas; the first is the default */",
        "",
        "const char *NAME_describe(void);        /* TOML: abi, summary, needs, probes, parameters, initial_window, state */",
        "uint64_t NAME_state_size(void);         /* bytes of the state of a flow, at most 1 MiB */",
        "int32_t NAME_open(void *state, const ackclock_flow_info *flow, const double *parameters, "
        "ackclock_decision *decision);",
    ]
    required = {"on_ack", "on_congestion", "on_rto", "set_window"}
    for method in interface()["methods"]:
        if method["class"]:
            argument = f"const ackclock_{snake(method['class'])} *{method['argument']}"
        elif method["fields"][0]["kind"] == "time":
            argument = "int64_t now_ps"
        else:
            argument = f"double {method['argument']}"
        star = "" if method["name"] in required else " /* * */"
        lines.append(f"int32_t NAME_{method['name']}(void *state, {argument}, ackclock_decision *decision);{star}")
    return [
        *lines,
        "void NAME_probe(const void *state, double *values);   /* with probes */",
        "int32_t NAME_fork(void *to, const void *from);        /* *; without it the bytes of the state are copied */",
        "void NAME_close(void *state);                         /* * */",
        "const char *NAME_error(const void *state);            /* *; the reason of a result other than 0 */",
    ]


def header() -> str:
    """The text of `ackclock.h`."""
    lines = [HEAD, *_words(), ""]
    for of in structs():
        name = f"ackclock_{snake(of['class'])}"
        fields = [line for field in of["fields"] for line in _field(field)]
        lines += [
            _comment(of["about"], ""),
            f"typedef struct {name} {{",
            "  uint64_t size;",
            *fields,
            f"}} {name};",
            "",
        ]
    lines += [
        "/* The functions of a controller NAME. Those with a star may be missing. Each returns 0, or another number if it "
        "failed.",
        "   `state` is zeroed and aligned to 16 before `open`.",
        "",
        *(f"   {line}".replace("/*", "--").replace(" */", "").rstrip() for line in _functions()),
        "*/",
        "",
        TAIL,
    ]
    return "\n".join(lines)


def rust() -> str:
    """The structs of `ackclock.h` for Rust, as the file `ackclock.rs`."""
    types = {"double": "f64", "uint64_t": "u64", "int64_t": "i64"}
    lines = [
        f"// The structs of ackclock.h, for Rust. {MADE}",
        "// Licence: Apache-2.0 OR MIT. Windows are in segments, times in picoseconds.",
        "",
    ]
    for of in structs():
        lines += [f"/// {of['about']}", "#[repr(C)]", f"pub struct {of['class']} {{", "    pub size: u64,"]
        for field in of["fields"]:
            text, declared = _field(field)
            said = " ".join(text.replace("/*", "").replace("*/", "").split())
            lines += [f"    /// {said}", f"    pub {field_name(field)}: {types[declared.split()[0]]},"]
        lines += ["}", ""]
    return "\n".join(lines)


HOST = f"""\
/* Congestion controllers of Ackclock in a transport stack. {MADE}
   Licence: Apache-2.0 OR MIT.

   A stack opens a controller for each flow, passes its events, and takes the window, the pacing rate and the rest from
   the answers: `on_open`, `on_handshake`, then `on_sent` for each packet, and for each acknowledgement `on_delivered`,
   `on_sample`, `on_lost`, then `on_undo`, `on_recovery_exit` or `on_congestion`, at last `on_ack`; those of a signal only
   if the controller needs it. After `on_undo` the stack sets the window and the threshold of before the reduction.

   The stack fills in `size` of each struct, and sets what it does not have to none (ackclock.h has the value). An
   `ackclock_ack` has at least now_ps, newly_acked, newly_delivered, acked_through, next, in_flight, prior_in_flight,
   rtt_ps, phase, may_grow and window_limited; with the signal `rate` also delivered_total, lost_total, and all fields of
   the sample or none. `window_limited` is 0 while the application or the pacer, not the window, limits what is in flight.
   Times count from the start of the flow or of the program: a 64-bit number holds 106 days.

   Each function returns 0, or a negative number: -1 for a struct without its size, or a value that its field cannot
   have. A controller belongs to one thread at a time. */
#ifndef ACKCLOCK_CONTROLLERS_H
#define ACKCLOCK_CONTROLLERS_H

#include <stddef.h>
#include "ackclock.h"

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct ackclock_controller ackclock_controller;

/* Opens a controller: its name, or with parameters `cubic: beta = 0.8, hystart = false`. NULL with a message (at most `room`
   bytes) if there is no such controller, or for a wrong value. The answers are those before the first event. */
ackclock_controller *ackclock_controller_open(const char *name, const ackclock_flow_info *flow, ackclock_decision *decision,
                                              char *message, size_t room);
/* The signals that it requires (docs/controller-interface.md), separated by commas. */
const char *ackclock_controller_needs(const ackclock_controller *controller);
/* The initial window that the algorithm specifies, segments; NaN: that of the stack. */
double ackclock_controller_initial_window(const ackclock_controller *controller);
void ackclock_controller_close(ackclock_controller *controller);

"""


def host() -> str:
    """The text of `ackclock_controllers.h`."""
    lines = [HOST]
    for method in interface()["methods"]:
        if method["class"]:
            argument = f"const ackclock_{snake(method['class'])} *event"
        elif method["fields"][0]["kind"] == "time":
            argument = "int64_t now_ps"
        else:
            argument = "double segments"
        lines += [
            _comment(method["doc"], ""),
            f"int ackclock_controller_{method['name']}(ackclock_controller *controller, {argument},",
            f"{' ' * (25 + len(method['name']))}ackclock_decision *decision);",
        ]
    return "\n".join([*lines, "", TAIL])
