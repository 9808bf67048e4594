"""The parts of the benchmark, each a function: it makes what it needs, measures, and tells a section."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import debug_log, dense_log, facts, kernel_trace, peers, start_up, trace_folder
from benchmarks.measure import MIB, Cost, once, side_by_side
from benchmarks.peers import CAT, GREP, OURS, RIPGREP, SCRIPT
from benchmarks.section import Bar, Section, number, seconds, size

FORMATS = ("text", "json", "junit", "github", "markdown", "sarif", "gitlab", "html")


@dataclass
class Plan:
    """How much is measured. Sizes are in MiB; `curves` are seconds by MiB, for the plot."""

    folder: Path
    say: Callable[[str], None]
    runs: int = 5
    sizes: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096)
    beside: int = 512  # of the log that all peers read
    dense: int = 128
    distinct: int = 100_000
    files: tuple[int, int] = (64, 32)  # how many, and the size of each
    traces: int = 128
    kernels: int = 512  # of the kernel trace
    starts: int = 15
    curves: dict[str, dict[int, float]] = field(default_factory=dict)

    @property
    def most(self) -> int:
        """The most bytes on disk at a time."""
        return MIB * max(
            self.sizes[-1], self.files[0] * self.files[1], 2 * self.dense, 6 * self.traces, self.kernels
        )


def big_log(plan: Plan) -> list[Section]:
    """A debug log beside peers, and as it grows."""
    log, sections, before = debug_log.Grown(plan.folder / "debug.log"), [], 0.0
    growth = Section(
        "As the log grows",
        "The same log, twice as long each time, on one core.",
        ("log", OURS, "growth", "MB/s", "CPU", "memory", RIPGREP, CAT),
    )
    for mib in plan.sizes:
        plan.say(f"a debug log of {size(mib * MIB)}")
        path = log.grow(mib * MIB)
        flushed(path)
        commands = {OURS: peers.gate(path), RIPGREP: peers.ripgrep(path), CAT: peers.cat(path)}
        if mib <= plan.beside:
            commands |= {SCRIPT: peers.first_script(path)}
        if mib == plan.beside:
            commands |= {GREP: peers.grep(path), "all cores": peers.gate(path, one_core=False)}
        once(commands[CAT])
        found = side_by_side(commands, plan.runs)
        ours = found[OURS]
        for name, cost in found.items():
            plan.curves.setdefault(name, {})[mib] = cost.wall
        if mib == plan.beside:
            sections.append(_beside(mib, found))
        growth.rows.append(
            (
                size(mib * MIB),
                seconds(ours.wall),
                f"{number(ours.wall / before)}×" if before else "",
                number(mib * MIB / 1e6 / ours.wall),
                seconds(ours.cpu),
                held(ours.memory),
                seconds(found[RIPGREP].wall),
                seconds(found[CAT].wall),
            )
        )
        if before:
            growth.bars.append(Bar(f"growth to {size(mib * MIB)}", ours.wall / before, 2.1))
        before = ours.wall
    worst = max(growth.bars, key=lambda bar: bar.measured, default=None)
    growth.bars = [worst._replace(what="growth at each doubling")] if worst else []
    growth.bars.append(Bar("most memory", ours.memory / 1e6, 150, "MB"))
    path.unlink()
    return [*sections, growth]


def _beside(mib: int, found: Mapping[str, Cost]) -> Section:
    section = Section(
        f"A debug log of {size(mib * MIB)}, beside peers",
        "ripgrep and GNU grep count the lines with one of 230 literals (`benchmarks/anchors.txt`), which is "
        "the least that a search for fallbacks does. The first script is `re.findall` of five patterns over "
        "the whole text. All on one core, but for the line that says otherwise.",
        ("command", "time", "of ripgrep", "of cat", "CPU", "memory"),
    )
    ours, rg, cat = found[OURS], found[RIPGREP], found[CAT]
    for name, cost in found.items():
        shown = f"{OURS}, all cores" if name == "all cores" else name
        ratios = (f"{number(cost.wall / rg.wall)}×", f"{number(cost.wall / cat.wall)}×")
        section.rows.append((shown, seconds(cost.wall), *ratios, seconds(cost.cpu), held(cost.memory)))
    section.bars = [
        Bar("time beside ripgrep", ours.wall / rg.wall, 0.5),
        Bar("time beside cat", ours.wall / cat.wall, 5),
        Bar("time beside cat, all cores", found["all cores"].wall / cat.wall, 2.5),
    ]
    return section


def dense(plan: Plan) -> list[Section]:
    """Logs in which many lines report a fallback."""
    section = Section(
        "Dense logs",
        "One line in so many opens a record that reports a fallback, among lines of a debug log.",
        ("log", "time", "MB/s", "CPU", "memory"),
    )
    for every, limit in ((100, 150), (10, 40)):
        plan.say(f"a log in which 1 line in {every} reports a fallback")
        log = dense_log.strewn(plan.folder / "dense.log", plan.dense * MIB, every)
        cost = side_by_side({OURS: peers.gate(log)}, plan.runs)[OURS]
        speed = log.stat().st_size / 1e6 / cost.wall
        name = f"1 line in {every}, {size(plan.dense * MIB)}"
        section.rows.append((name, seconds(cost.wall), number(speed), seconds(cost.cpu), held(cost.memory)))
        section.bars.append(Bar(f"1 line in {every} reports a fallback", speed, limit, "MB/s", at_least=True))
        log.unlink()
    return [section]


def distinct(plan: Plan) -> list[Section]:
    """So many different fallbacks: the memory, and what each report holds of them."""
    plan.say(f"{plan.distinct:,} different fallbacks, and each report of them")
    log = dense_log.different(plan.folder / "different.log", plan.distinct)
    cost = side_by_side({OURS: peers.gate(log)}, plan.runs)[OURS]
    reports = {name: plan.folder / f"report.{name}" for name in FORMATS}
    outputs = [word for name, path in reports.items() for word in ("--output", f"{name}={path}")]
    written = once(peers.gate(log, *outputs))
    section = Section(
        f"{plan.distinct:,} different fallbacks",
        f"Read in {seconds(cost.wall)} and at most {size(cost.memory)} of memory; with all eight reports "
        f"written, in {seconds(written.wall)} and {size(written.memory)}.",
        ("report", "size", "packed (gzip)"),
    )
    for name, path in reports.items():
        text = path.read_bytes()
        section.rows.append((name, size(len(text)), size(len(gzip.compress(text)))))
        path.unlink()
    section.bars = [Bar(f"memory for {plan.distinct:,} different fallbacks", cost.memory / 1e6, 150, "MB")]
    log.unlink()
    return [section]


def many_files(plan: Plan) -> list[Section]:
    """Several logs at a time."""
    count, mib = plan.files
    plan.say(f"{count} logs of {size(mib * MIB)}")
    folder = plan.folder / "logs"
    folder.mkdir()
    for number_ in range(count):
        flushed(debug_log.Grown(folder / f"rank-{number_:02}.log", seed=number_).grow(mib * MIB))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    jobs = sorted({1, 2, cores})
    commands = {f"{n}": peers.gate(folder, "--jobs", f"{n}", one_core=False) for n in jobs}
    found = side_by_side(commands, plan.runs)
    section = Section(
        f"{count} logs of {size(mib * MIB)}",
        f"`--jobs N` on {cores} cores. The memory is that of all processes together.",
        ("jobs", "time", "faster", "CPU", "memory"),
    )
    for name, cost in found.items():
        memory = once(commands[name], sampled=True).memory
        faster = f"{number(found['1'].wall / cost.wall)}×"
        section.rows.append((name, seconds(cost.wall), faster, seconds(cost.cpu), size(memory)))
    if cores > 1:
        faster_by = found["1"].wall / found["2"].wall
        section.bars = [Bar("two jobs on two cores, faster by", faster_by, 1.8, at_least=True)]
    for log in folder.iterdir():
        log.unlink()
    return [section]


def traces(plan: Plan) -> list[Section]:
    """A folder of structured traces, beside tlparse."""
    plan.say(f"a folder of structured traces, {size(plan.traces * MIB)}")
    folder = trace_folder.make(plan.folder / "traces", plan.traces * MIB)
    out, pages = plan.folder / "tlparse", plan.folder / "tlparse.plain"
    html, plain = "tlparse", "tlparse --plain-text"
    commands = {
        f"{OURS} check": peers.gate(folder),
        f"{OURS} check, all cores": peers.gate(folder, one_core=False),
        html: peers.tlparse(folder, out),
        plain: peers.tlparse(folder, pages, "--plain-text"),
    }
    found = side_by_side(commands, plan.runs)
    same = facts.same(folder, pages)
    section = Section(
        f"A folder of structured traces (TORCH_TRACE), {size(plan.traces * MIB)}, {debug_log.RANKS} ranks",
        f"tlparse writes pages to look at, {size(facts.written(out))} here, and with `--plain-text` "
        f"{size(facts.written(pages))} without rendering them; fallback-gate writes a verdict. {same} All on "
        "one core, but for the line that says otherwise.",
        ("command", "time", "of ours", "CPU", "memory"),
    )
    ours = found[f"{OURS} check"]
    for name, cost in found.items():
        ratio = f"{number(cost.wall / ours.wall)}×"
        section.rows.append((name, seconds(cost.wall), ratio, seconds(cost.cpu), held(cost.memory)))
    section.bars = [
        Bar("faster than tlparse", found[html].wall / ours.wall, 3, at_least=True),
        Bar("faster than tlparse --plain-text", found[plain].wall / ours.wall, 3, at_least=True),
    ]
    return [section]


def kernels(plan: Plan) -> list[Section]:
    """A trace of what ran on the device."""
    plan.say(f"a kernel trace of {size(plan.kernels * MIB)}")
    trace = kernel_trace.make(plan.folder / "decode.json", plan.kernels * MIB)
    flushed(trace)
    cost = side_by_side({OURS: peers.kernels(trace)}, plan.runs)[OURS]
    speed = trace.stat().st_size / 1e6 / cost.cpu
    section = Section(
        f"A kernel trace of {size(plan.kernels * MIB)}",
        "What `torch.profiler` writes (JSON), read by `fallback-gate trace` on one core.",
        ("time", "MB/s", "CPU", "memory"),
        [(seconds(cost.wall), number(speed), seconds(cost.cpu), held(cost.memory))],
        [
            Bar("a kernel trace", speed, 1000 / 60, "MB/s", at_least=True),
            Bar("memory for a kernel trace", cost.memory / 1e6, 300, "MB"),
        ],
    )
    trace.unlink()
    return [section]


def start(plan: Plan) -> list[Section]:
    """What a small log takes, and where it goes."""
    plan.say("the start-up")
    small = {OURS: peers.gate(peers.SMALL), "python": peers.imports()}
    once(small[OURS])
    found = side_by_side(small, plan.starts)
    ratio = found[OURS].wall / found["python"].wall
    return [start_up.section(found, Bar("start-up beside click and yaml", ratio, 2.5), plan.runs)]


def held(memory: float) -> str:
    """The most memory of a command. A smaller one than `launch.py` itself shows no more than that."""
    return size(memory) if memory > 16e6 else "under 16 MB"


def flushed(path: Path) -> None:
    """Wait until a file is on disk: what is still being written would slow down what is measured."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


PARTS: Mapping[str, Callable[[Plan], list[Section]]] = {
    "start": start,
    "log": big_log,
    "dense": dense,
    "distinct": distinct,
    "files": many_files,
    "traces": traces,
    "kernels": kernels,
}
