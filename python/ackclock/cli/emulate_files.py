"""The files of an emulation: packet events, captures, a figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ackclock.base.files import BadInput, check_picture, check_targets, save_figure, write_bytes
from ackclock.base.table_files import check_table, write_frame
from ackclock.cli.run_files import capture_files

if TYPE_CHECKING:
    from ackclock.apps.reach.emulation import Emulated, Recording
    from ackclock.cli.printed import Print
    from ackclock.draw.style import Size
    from ackclock.scenario import Scenario

PCAP_HELP = (
    "Write a packet capture to this pcapng file. NODE=FILE captures at a node: one option for each of both ends. FILE "
    "captures at `from` and at the hosts of other flows, a->b=FILE on a link. May be repeated."
)
PLOT_HELP = (
    "Draw the rates of both directions, queues, drops and the delay of each packet to this file (.svg, .pdf, .png or "
    ".eps); with --b or --repeats the values with their intervals."
)


@Parameter(name="*", show_default=False)
@dataclass(frozen=True)
class EmulationFiles:
    """What an emulation writes."""

    packets: Path | None = None
    """Write every packet event to this file (.parquet or .csv)."""
    pcap: Annotated[list[str] | None, Parameter(consume_multiple=False, help=PCAP_HELP)] = None
    plot: Annotated[Path | None, Parameter(help=PLOT_HELP)] = None

    def check(self, printed: Print) -> Size | None:
        """Check, before the run, that the files can be written after it; returns the size of the figure.

        Raises BadInput.
        """
        if self.packets is not None:
            check_table(self.packets, "--packets")
        if self.plot is not None:
            check_picture(self.plot)
        check_targets(self.targets)
        return None if self.plot is None else printed.size_of(self.plot)

    @property
    def targets(self) -> list[Path]:
        """The files to write."""
        captures = capture_files(self.pcap or ()).values()
        return [path for path in (self.packets, *captures, self.plot) if path is not None]

    def refuse_recordings(self) -> None:
        """Raise BadInput for what is recorded of one run only."""
        for option, value in {"--packets": self.packets, "--pcap": self.pcap}.items():
            if value is not None:
                raise BadInput(f"{option}: is of one run; leave out --b and --repeats")

    def recording(self, *, series: bool) -> Recording:
        """What is recorded: every packet event for the files, as many as fit into 120 MB for the series alone."""
        from ackclock.apps.reach.emulation import Recording

        whole = self.packets is not None or self.plot is not None
        return Recording("all" if whole else "first" if series else "off", tuple(capture_files(self.pcap or ())))


NO_FILES = EmulationFiles()


def write_files(files: EmulationFiles, scenario: Scenario, emulated: Emulated, *, size: Size | None) -> list[Path]:
    """Write the files of an emulation; returns their paths."""
    if files.packets is not None:
        write_frame(emulated.packets, files.packets)
    for place, path in capture_files(files.pcap or ()).items():
        write_bytes(path, emulated.captures[place])
    if files.plot is not None:
        from ackclock.apps.reach.crossing import Crossing
        from ackclock.apps.reach.figures import overview
        from ackclock.draw.style import fitted

        crossed = Crossing.of(emulated)
        save_figure(fitted(lambda: overview(crossed, scenario.title), size), files.plot)
    return files.targets
