"""The front door, for GitHub: one run of the command, told to the runner by its own files.

`action.yml` calls this with the inputs in variables, never in shell text. It runs `fallback-gate check` as
anyone would, and writes what came of it where the runner looks: annotations on standard output, the step
summary, the outputs. All of that is written before the step fails.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fallback_gate.cli.action_inputs import FILES, Inputs, read, working_directory
from fallback_gate.cli.action_policy import NOT_HERE, base_commit, compared, fetched
from fallback_gate.errors import EXIT_BUG, EXIT_USAGE, InputError
from fallback_gate.model import EXIT_CODES, Outcome
from fallback_gate.reports import safe

GATE: Final = (sys.executable, "-I", "-X", "utf8", "-m", "fallback_gate")
RECORDING: Final = "compile.log"
SHELL: Final = ("--noprofile", "--norc", "-e", "-o", "pipefail", "-c")  # as the runner calls `shell: bash`
ERRORS: Final = 9  # annotations: the runner shows 10 of a step
SUMMARY_LINES: Final = 100
SUMMARY_BYTES: Final = 900 << 10  # the runner drops a summary of more than 1 MiB as a whole
_BLOCKED, _UNPROVEN = EXIT_CODES[Outcome.BLOCKED], EXIT_CODES[Outcome.UNPROVEN]
_FORGIVEN: Final = {"unproven": (), "blocked": (_UNPROVEN,), "never": (_BLOCKED, _UNPROVEN)}


def record(environ: Mapping[str, str]) -> int:
    """Run the input `command` and record it; its exit code becomes an output, for the judging step."""
    wrong: list[str] = []
    place = working_directory(environ, wrong)
    if wrong:
        raise InputError("\n".join(wrong))
    shell = shutil.which("bash")  # by PATH: Windows would look into its system folder first
    if shell is None:
        raise InputError("command: there is no bash on this runner to run it")
    folder = _new_folder(environ, "recording-")
    call = [*GATE, "record", "--log", str(folder / RECORDING), "--"]
    print("::group::Run and record the command", flush=True)
    own = {name: value for name, value in environ.items() if not name.startswith(("INPUT_", "GATE_PYTHON"))}
    done = subprocess.run([*call, shell, *SHELL, environ["INPUT_COMMAND"]], cwd=place, env=own)
    print("::endgroup::", flush=True)
    _outputs(environ, {"folder": folder.as_posix(), "exit-code": str(done.returncode)})
    return 0


def judge(environ: Mapping[str, str]) -> int:
    """Judge the logs, tell the runner, and give the exit code that the step ends with."""
    inputs = read(environ)
    folder = Path(inputs.folder, inputs.output_dir) if inputs.output_dir else _new_folder(environ, "reports-")
    reports = {name: folder.absolute() / FILES[name] for name in inputs.formats}
    private = _new_folder(environ, "runner-")  # read here; what lies in `folder` may be of an earlier step
    own = {"json": private / "report.json"}
    if inputs.annotations:
        own["github"] = private / "annotations.txt"
    if inputs.summary:
        own["markdown"] = private / "summary.md"
    base = base_commit(environ)
    here = None if base is None else fetched(base, inputs.folder)
    if here is False and inputs.policy_from == "base":
        raise InputError(f"policy-from: {NOT_HERE}")
    ref = base if here and inputs.policy_from == "base" else None
    call = [*GATE, *arguments(inputs, [*reports.items(), *own.items()], environ, ref)]
    with _quoted():
        done = subprocess.run(call, cwd=inputs.folder, stderr=subprocess.PIPE)
        said = done.stderr.decode("utf-8", "backslashreplace")
        print(said, end="", file=sys.stderr, flush=True)
    report = json.loads(_read(own["json"]) or "{}")
    code = done.returncode
    if not 0 <= code <= EXIT_BUG or report.get("exit_code", code or EXIT_BUG) != code:
        code = EXIT_BUG
    print(_read(own.get("github")), end="", flush=True)
    wrong = [] if report else _errors(said)
    for line in wrong[:ERRORS]:
        _complain(line)
    if inputs.summary:
        _summarise(environ, _read(own["markdown"]), wrong)
    told = outputs(report, code, folder, reports)
    if base is not None and report:
        loosened, section = compared(GATE, inputs, base if here else None, private, environ)
        told["loosened"] = loosened
        if loosened not in ("", "0"):
            _annotate("warning", f"the pull request may let more pass: {loosened} changes; see the summary")
        if inputs.summary:
            _summarise(environ, section, ())
    _outputs(environ, told)
    return _final(code, inputs.fail_on, environ.get("RECORDED_EXIT_CODE", ""))


def arguments(
    inputs: Inputs, reports: Sequence[tuple[str, Path]], environ: Mapping[str, str], ref: str | None = None
) -> list[str]:
    """The command line of `fallback-gate` that the inputs ask for; `ref` is the commit whose policy judges.

    Values stand behind an equals sign and logs behind two dashes, so that none is taken for an option.
    """
    call = ["check", "--color=never"]
    if environ.get("RUNNER_DEBUG") == "1":
        call.append("--verbose")
    options = {"policy": inputs.policy, "baseline": inputs.baseline, "expect-ranks": inputs.expect_ranks}
    options["policy-ref"] = ref or ""
    call += [f"--{option}={value}" for option, value in options.items() if value]
    call += [f"--output={name}={path}" for name, path in reports]
    recorded = environ.get("RECORDED", "")
    return [*call, "--", *inputs.logs, *([f"{recorded}/{RECORDING}"] if recorded else [])]


def outputs(
    report: Mapping[str, Any], code: int, folder: Path, reports: Mapping[str, Path]
) -> dict[str, str]:
    """The Action's outputs; a report that was not written has no path."""
    events: Sequence[Mapping[str, Any]] = report.get("events", ())
    processes: Sequence[Mapping[str, Any]] = report.get("processes", ())
    peopled = {process["log"] for process in processes}
    judged = [*processes, *(log for log in report.get("logs", ()) if log["path"] not in peopled)]
    told = {
        "verdict": str(report.get("verdict") or ""),
        "exit-code": str(code),
        "report-dir": folder.absolute().as_posix(),
        "loosened": "",
    }
    for decision in ("blocked", "allowed", "warned"):
        told[decision] = str(sum(event["decision"] == decision for event in events))
    states = [one["verdict"] for one in judged]
    # Where nothing was recognised at all, it is all that was found which shows nothing.
    told["unproven"] = str(states.count("unproven") or (len(states) if not any(states) else 0))
    for name, path in reports.items():
        told[f"report-{name}"] = path.as_posix() if report else ""
    return told


def _final(code: int, fail_on: str, recorded: str) -> int:
    """The step's own exit code: the gate's, unless the inputs forgive it; then the recorded command's."""
    if code not in (0, *_FORGIVEN[fail_on]):
        return code
    if code:
        print(
            f"fallback-gate: exit code {code} does not fail the job, since fail-on is {fail_on}", flush=True
        )
    if recorded not in ("", "0"):
        _complain(f"the recorded command ended with exit code {recorded}")
        return int(recorded) if recorded.isdecimal() and int(recorded) < 256 else EXIT_USAGE
    return 0


@contextmanager
def _quoted() -> Iterator[None]:
    """Let the runner take what is printed here for text, until it meets a token that nobody else knows."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", flush=True)


def _read(path: Path | None) -> str:
    """What the gate wrote there, or nothing where it ended before."""
    return path.read_text(encoding="utf-8") if path is not None and path.exists() else ""


def _errors(said: str) -> list[str]:
    """What was wrong, of all that the gate said on standard error; no usage text, no traceback."""
    lines = [line.strip() for line in said.splitlines()]
    told = [line for line in lines if line.startswith(("fallback-gate", "Error: "))]
    return [line.removeprefix("fallback-gate: ") for line in told] or ["the gate ended without a word"]


def _summarise(environ: Mapping[str, str], text: str, wrong: Sequence[str]) -> None:
    """Append the Markdown report to the step summary, or what was wrong where there is none."""
    if not environ.get("GITHUB_STEP_SUMMARY"):
        return
    if not text:
        lines = [safe.shorten(safe.inline(line), 1000).replace("`", "'") for line in wrong[:SUMMARY_LINES]]
        text = "\n".join(["### fallback-gate: no verdict", "", "```text", *lines, "```", ""])
    if len(text.encode()) > SUMMARY_BYTES:
        text = "### fallback-gate\n\nThe summary is too long for this page; read the reports.\n"
    with open(environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8", newline="\n") as summary:
        summary.write(text)


def _outputs(environ: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Tell the runner the step's outputs. No value holds a line feed, and so none can name another output."""
    with open(environ["GITHUB_OUTPUT"], "a", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{name}={safe.terminal(value)}\n" for name, value in values.items())


def _complain(text: str) -> None:
    """One error annotation of ours."""
    _annotate("error", text)


def _annotate(level: str, text: str) -> None:
    escaped = safe.inline(text).replace("%", "%25")
    print(f"::{level} title=fallback-gate::{escaped}", flush=True)


def _new_folder(environ: Mapping[str, str], prefix: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"fallback-gate-{prefix}", dir=environ.get("RUNNER_TEMP")))


STEPS: Final[Mapping[str, Callable[[Mapping[str, str]], int]]] = {"record": record, "judge": judge}


def main() -> None:
    """Run one step of the Action; a mistake in its inputs ends with exit code 2 and an error annotation."""
    environ = os.environ
    try:
        code = STEPS[sys.argv[1]](environ)
    except InputError as wrong:
        lines = str(wrong).splitlines()
        for line in lines[:ERRORS]:
            _complain(line)
        if environ.get("INPUT_SUMMARY", "").strip().lower() != "false":
            _summarise(environ, "", lines)
        _outputs(environ, outputs({}, EXIT_USAGE, Path("."), {}) | {"report-dir": ""})
        code = EXIT_USAGE
    sys.exit(code)


if __name__ == "__main__":
    main()
