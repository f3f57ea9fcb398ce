"""The page of the command line, from the same descriptions as `ackclock COMMAND --help`."""

from __future__ import annotations

import re

from ackclock.cli.app import COMMANDS, application

HEAD = """# Command line

The text of `ackclock COMMAND --help` for every command. Exit status: 0 done, 1 a run failed or a comparison found a
difference, 2 bad input. Progress and messages go to standard error.
"""


def page() -> str:
    """All commands as Markdown: usage, arguments, options, the example at the end of the help."""
    app = application([])
    text = app.generate_docs(output_format="markdown", recursive=True)
    sections = dict(re.findall(r"^## ackclock ([\w-]+)\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S))
    parts = [HEAD]
    for name in COMMANDS:
        body = sections[name].strip().replace("```console", "```sh").replace("**Parameters**", "**Options**")
        parts.append(f"## {name}\n\n{body}")
        epilogue = app[name].help_epilogue
        if epilogue:
            said, _, example = epilogue.partition(": ")
            parts.append(f"**{said}**:\n\n```sh\n{example}\n```" if example else epilogue)
    return "\n\n".join(parts) + "\n"
