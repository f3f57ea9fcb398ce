"""`ackclock completion`."""

from __future__ import annotations

from typing import Literal

from ackclock.base.text import say
from ackclock.cli.app import application

EXAMPLE = "ackclock completion bash --install"


def command(shell: Literal["bash", "zsh", "fish"], /, *, install: bool = False) -> None:
    """Print or install the completion script of a shell.

    Commands, options, values and file names are completed.

    Parameters
    ----------
    shell
        The shell.
    install
        Write the script to the folder that the shell reads, and load it in the start file of the shell (~/.bashrc,
        ~/.zshrc). Default: print it.

    """
    app = application(())
    if install:
        path = app.install_completion(shell=shell)
        say(f"written: {path}; it takes effect in a new {shell}")
    else:
        print(app.generate_completion(shell=shell))
