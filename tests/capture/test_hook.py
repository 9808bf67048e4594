"""The hook, in real processes: one closing record each, however it ends, and nothing else is changed.

A stand-in takes the place of onnxruntime; `tests/live` runs the real compilers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.capture.stub_onnxruntime import STUB

HOOK = Path(__file__).parents[2] / "fallback_gate" / "capture" / "hook"
MAKE = "import onnxruntime\nonnxruntime.InferenceSession('m.onnx', providers=['CPUExecutionProvider'])\n"
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs fork and signals")


class Run:
    """What a program did, and the records that its processes left."""

    def __init__(self, folder: Path, code: str, *, hook: bool = True, **environment: str) -> None:
        self.records = folder / "records"
        self.records.mkdir(exist_ok=True)
        (folder / "onnxruntime").mkdir(exist_ok=True)
        (folder / "onnxruntime" / "__init__.py").write_text(STUB, encoding="utf-8")
        program = folder / "program.py"
        program.write_text(textwrap.dedent(code), encoding="utf-8")
        path = os.pathsep.join([str(HOOK)] * hook + [str(folder), environment.pop("PYTHONPATH", "")])
        env = {
            k: v for k, v in os.environ.items() if not k.startswith(("COV_", "COVERAGE", "PYTHON", "RANK"))
        }
        env |= {"PYTHONPATH": path, "FALLBACK_GATE_RECORD_DIR": str(self.records), **environment}
        done = subprocess.run(
            [sys.executable, str(program)], capture_output=True, text=True, env=env, timeout=60
        )
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def told(self) -> list[dict[str, Any]]:
        """The records, by process id; each file is one line."""
        found = []
        for file in self.records.iterdir():
            said = json.loads(file.read_text(encoding="utf-8"))
            assert file.name.startswith(f"closing-{said['pid']}-")
            assert file.read_text(encoding="utf-8").count("\n") == 1
            found.append(said)
        return sorted(found, key=lambda said: int(said["pid"]))


def test_a_process_tells_its_sessions_as_it_ends(tmp_path: Path) -> None:
    run = Run(tmp_path, MAKE + "print('done')\n")
    assert (run.code, run.out, run.err) == (0, "done\n", "")
    (said,) = run.told
    assert next(iter(said)) == "fallback_gate_closing"
    assert (said["ended"], said["status"], said["exception"], said["rank"]) == (True, None, None, None)
    assert said["python"] == ".".join(map(str, sys.version_info[:3]))
    assert said["argv0"].endswith("program.py")
    assert said["compilers"] == {
        "onnxruntime": {
            "version": "1.32.0",
            "made": 1,
            "sessions": [
                {
                    "session": 0,
                    "asked": ["CPUExecutionProvider"],
                    "error": None,
                    "got": ["CPUExecutionProvider"],
                    "nodes": {"CPUExecutionProvider": [["MatMul", "mm", 2]]},
                }
            ],
        }
    }


def test_a_process_without_a_compiler_leaves_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path, "import json\nprint('done')\n")
    assert (run.code, run.out, run.err, run.told) == (0, "done\n", "", [])


def test_a_compiler_that_is_imported_and_not_used_tells_nothing(tmp_path: Path) -> None:
    assert Run(tmp_path, "import onnxruntime\n").told == []


def test_the_rank_that_torchrun_gave(tmp_path: Path) -> None:
    assert [said["rank"] for said in Run(tmp_path, MAKE, RANK="3").told] == [3]


def test_an_exception_is_told_and_passed_on(tmp_path: Path) -> None:
    run = Run(tmp_path, MAKE + "raise KeyError('x')\n")
    assert run.code == 1
    assert "KeyError: 'x'" in run.err
    assert [(said["ended"], said["exception"]) for said in run.told] == [(True, "KeyError")]


def test_a_session_that_is_not_made_is_told(tmp_path: Path) -> None:
    code = MAKE.replace("CPUExecution", "BrokenExecution")
    run = Run(tmp_path, code)
    assert run.code == 1
    (said,) = run.told
    (session,) = said["compilers"]["onnxruntime"]["sessions"]
    assert session["error"] == "RuntimeError: no such provider"


@pytest.mark.parametrize("given", ["7", "status=7"])
def test_os_exit_writes_the_record_first(tmp_path: Path, given: str) -> None:
    run = Run(tmp_path, MAKE + f"import os\nos._exit({given})\n")
    assert run.code == 7
    assert [(said["ended"], said["status"]) for said in run.told] == [(True, 7)]


@POSIX
def test_a_killed_process_leaves_a_record_that_it_did_not_end(tmp_path: Path) -> None:
    run = Run(tmp_path, MAKE + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert run.code == -signal.SIGKILL
    assert [said["ended"] for said in run.told] == [False]


@POSIX
def test_exec_writes_the_record_first(tmp_path: Path) -> None:
    run = Run(
        tmp_path, MAKE + "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'print(1)'])\n"
    )
    assert run.out == "1\n"
    assert [said["ended"] for said in run.told] == [True]


@POSIX
def test_a_fork_tells_what_it_did_itself(tmp_path: Path) -> None:
    code = (
        MAKE
        + """
import os
for asked in (["OpenVINOExecutionProvider"], None):
    child = os.fork()
    if not child:
        if asked:
            onnxruntime.InferenceSession("n.onnx", providers=asked)
        os._exit(0)
    os.waitpid(child, 0)
print(os.getpid())
"""
    )
    run = Run(tmp_path, code)
    got = {
        said["pid"] == int(run.out): [one["got"] for one in said["compilers"]["onnxruntime"]["sessions"]]
        for said in run.told
    }
    assert len(run.told) == 2  # the child that did nothing leaves nothing
    assert got == {True: [["CPUExecutionProvider"]], False: [["OpenVINOExecutionProvider"]]}


@pytest.mark.parametrize(
    "method", ["spawn", pytest.param("fork", marks=POSIX), pytest.param("forkserver", marks=POSIX)]
)
def test_the_children_of_multiprocessing_tell_too(tmp_path: Path, method: str) -> None:
    code = f"""
    import multiprocessing, os, warnings

    def work(number):
        import onnxruntime
        onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])

    if __name__ == "__main__":
        warnings.simplefilter("ignore")
        context = multiprocessing.get_context("{method}")
        children = [context.Process(target=work, args=(n,)) for n in range(2)]
        [child.start() for child in children]
        [child.join() for child in children]
        print(*sorted(child.pid for child in children))
    """
    run = Run(tmp_path, code)
    assert run.code == 0, run.err
    assert [said["pid"] for said in run.told] == [int(pid) for pid in run.out.split()]
    assert all(said["ended"] for said in run.told)


def test_the_sitecustomize_that_was_there_runs_too(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys\nsys.own = __file__\n", encoding="utf-8")
    code = MAKE + "import sys, sitecustomize\nprint(sys.own == sitecustomize.__file__)\n"
    run = Run(tmp_path, code, PYTHONPATH=str(own))
    assert run.out == "True\n"
    assert len(run.told) == 1


def test_the_search_path_is_as_without_the_hook(tmp_path: Path) -> None:
    code = "import sys\nprint(sys.path, [type(finder) for finder in sys.meta_path if 'gate' not in repr(finder)])\n"
    assert Run(tmp_path, code).out == Run(tmp_path, code, hook=False).out


def test_a_hook_that_can_not_load_says_so_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "_fallback_gate_hook.py").write_text("raise SyntaxError('broken')\n", encoding="utf-8")
    own = tmp_path / "hook"
    own.mkdir()
    (own / "sitecustomize.py").write_text(
        (HOOK / "sitecustomize.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    run = Run(tmp_path, "print('done')\n", hook=False, PYTHONPATH=str(own))
    assert (run.code, run.out) == (0, "done\n")
    assert run.err.count("\n") == 1
    assert "leaves no closing record" in run.err


def test_a_folder_that_is_gone_costs_a_line(tmp_path: Path) -> None:
    run = Run(tmp_path, MAKE + "print('done')\n", FALLBACK_GATE_RECORD_DIR=str(tmp_path / "nowhere"))
    assert (run.code, run.out) == (0, "done\n")
    assert all("no closing record" in said for said in run.err.splitlines())


def test_a_compiler_of_another_shape_is_not_watched_and_runs(tmp_path: Path) -> None:
    (tmp_path / "openvino").mkdir()
    (tmp_path / "openvino" / "__init__.py").write_text("value = 1\n", encoding="utf-8")
    run = Run(
        tmp_path, "import openvino\nprint(openvino.value, openvino.__spec__.loader is openvino.__loader__)\n"
    )
    assert run.out == "1 True\n"
    assert run.err.count("\n") == 1
    assert "openvino is not watched" in run.err


def test_the_hook_runs_on_python_3_8() -> None:
    """As far as a newer Python can tell: no syntax, and no annotation that is evaluated, is newer."""
    import ast

    files = list(HOOK.rglob("*.py"))
    assert files
    for file in files:
        source = file.read_text(encoding="utf-8")
        ast.parse(source, feature_version=(3, 8))
        assert "from __future__ import annotations" in source


def test_compile_workers_print_no_list_of_frames(tmp_path: Path) -> None:
    # PyTorch 2.7's pool hands its workers the environment as it is while the pool starts.
    worker = tmp_path / "torch" / "_inductor" / "compile_worker"
    worker.mkdir(parents=True)
    for folder in (worker, *worker.parents[:2]):
        (folder / "__init__.py").touch()
    (worker / "subproc_pool.py").write_text(
        "import os\nclass SubprocPool:\n"
        "    def __init__(self, workers):\n        print(workers, os.environ.get('TORCH_LOGS'))\n",
        encoding="utf-8",
    )
    code = """\
        import os
        from torch._inductor.compile_worker.subproc_pool import SubprocPool
        SubprocPool(4)
        print(os.environ.get("TORCH_LOGS"))
        """
    said = Run(tmp_path, code, TORCH_LOGS="dynamo,graph_breaks")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == ["4 dynamo,graph_breaks,-dynamo", "dynamo,graph_breaks"]
    silent = Run(tmp_path, code, TORCH_LOGS="")
    assert silent.out.splitlines() == ["4 ", ""]


DYNAMO = """\
    import atexit, logging
    from types import SimpleNamespace as Some
    log = logging.getLogger("torch._dynamo")
    log.addHandler(logging.StreamHandler())
    log.setLevel(logging.INFO)
    atexit.register(log.info, "TorchDynamo attempted to trace the following frames: []")
    class OptimizeContext:
        def __call__(self, given):
            return given
    def reset():
        pass
    eval_frame, convert_frame, decorators = Some(OptimizeContext=OptimizeContext), Some(), Some()
    config, utils = Some(disable=False), Some(counters={}, get_compilation_metrics=list)
    """


@pytest.mark.parametrize(("use", "listed"), [("", False), ("torch._dynamo.OptimizeContext()(len)", True)])
def test_a_process_that_asks_nothing_of_dynamo_prints_no_list_of_frames(
    tmp_path: Path, use: str, listed: bool
) -> None:
    (tmp_path / "torch" / "_dynamo").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "_dynamo" / "__init__.py").write_text(textwrap.dedent(DYNAMO), encoding="utf-8")
    run = Run(tmp_path, f"import torch._dynamo\n{use}\n")
    assert run.code == 0
    assert run.err == "TorchDynamo attempted to trace the following frames: []\n" * listed
    assert len(run.told) == listed


def test_a_kernel_that_the_interpreter_runs_is_told(tmp_path: Path) -> None:
    # Triton's interpreter: a kernel object whose `run` is called at each launch, with `warmup` at none.
    runtime = tmp_path / "triton" / "runtime"
    runtime.mkdir(parents=True)
    for folder in (runtime, runtime.parent):
        (folder / "__init__.py").touch()
    (runtime / "interpreter.py").write_text(
        "class InterpretedFunction:\n"
        "    def __init__(self, fn):\n        self.fn = fn\n"
        "    def run(self, *a, grid, warmup, **k):\n        return None if warmup else self.fn(*a)\n",
        encoding="utf-8",
    )
    run = Run(
        tmp_path,
        """\
        from triton.runtime.interpreter import InterpretedFunction
        def moe_router(x):
            return x + 1
        def unused(x):
            return x
        InterpretedFunction(unused).run(1, grid=(1,), warmup=True)
        kernel = InterpretedFunction(moe_router)
        print(kernel.run(1, grid=(1,), warmup=False), kernel.run(2, grid=(1,), warmup=False))
        """,
    )
    assert (run.code, run.out, run.err) == (0, "2 3\n", "")
    (said,) = run.told
    assert said["compilers"] == {
        "triton": {"interpreted": [{"name": "moe_router", "file": str(tmp_path / "program.py"), "line": 2}]}
    }


def test_what_jax_leaves_to_its_interpreter_or_runs_without_jit_is_told(tmp_path: Path) -> None:
    # JAX: a module that compiles each module, a context that switches jit off, and Pallas's own interpreter.
    pallas = tmp_path / "jax" / "_src" / "pallas"
    pallas.mkdir(parents=True)
    for folder in (pallas, pallas.parent, pallas.parent.parent):
        (folder / "__init__.py").touch()
    for place, code in {
        "compiler": "def compile_or_get_cached(backend, computation):\n    return computation\n",
        "api": "import contextlib\n@contextlib.contextmanager\ndef disable_jit(disable=True):\n    yield disable\n",
        "pallas/hlo_interpreter": "def pallas_call_hlo_interpret(*a, jaxpr):\n    return a\n",
    }.items():
        (pallas.parent / f"{place}.py").write_text(code, encoding="utf-8")
    run = Run(
        tmp_path,
        """\
        from types import SimpleNamespace as Some
        from jax._src import api, compiler
        from jax._src.pallas import hlo_interpreter
        module = Some(operation=Some(regions=[]))
        compiler.compile_or_get_cached(Some(platform="gpu"), module)
        with api.disable_jit(), api.disable_jit(False) as off:
            print(off)
        said = Some(debug_info=Some(func_src_info="gate_attn at /app/kernels.py:12"))
        print(hlo_interpreter.pallas_call_hlo_interpret(1, jaxpr=said))
        """,
    )
    assert (run.code, run.out, run.err) == (0, "False\n(1,)\n", "")
    (said,) = run.told
    assert (said["compilers"]["jax"]["modules"], said["compilers"]["jax"]["without_jit"]) == (1, 1)
    assert said["compilers"]["jax"]["interpreted"] == [
        {"name": "gate_attn", "file": "/app/kernels.py", "line": 12}
    ]


@pytest.mark.parametrize(
    ("disabled", "in_mode", "skipped", "broke", "stance", "reason"),
    [
        (False, True, True, False, "force_eager", "a torch dispatch mode is active"),
        (True, False, False, False, "force_eager", "Dynamo tracing is disabled"),
        (
            False,
            False,
            True,
            True,
            "force_eager",
            None,
        ),  # behind a break: what called it was traced, and is told
        (False, False, True, False, "eager_then_compile", None),  # a first call, which is no fallback
        (False, False, True, False, "force_eager", "a module of PyTorch's own is not traced by itself"),
        (False, False, False, True, "eager_then_compile", "it was not traced"),
    ],
)
def test_why_a_frame_was_passed_over(
    tmp_path: Path, disabled: bool, in_mode: bool, skipped: bool, broke: bool, stance: str, reason: str | None
) -> None:
    code = f"""\
        import sys
        from types import SimpleNamespace as Some
        sys.path.insert(0, {str(HOOK)!r})
        from _fallback_gate_hook import torch_convert_frame as seen
        def forward(x):
            return x
        place = {{"name": "forward", "file": forward.__code__.co_filename, "line": forward.__code__.co_firstlineno}}
        seen.ASKED.append(Some(tells=place))
        seen.STANCES.append({{"stance": {stance!r}}})
        dynamo = Some(
            config=Some(disable={disabled}),
            trace_rules=Some(check=lambda code: {skipped}),
            utils=Some(counters={{"graph_break": {{"item": 1}} if {broke} else {{}}}}),
            convert_frame=Some(is_in_torch_dispatch_mode=lambda include_infra_modes: {in_mode}),
        )
        seen._note(forward.__code__, Some(guarded_code=None), dynamo)
        print(*[one["reason"] for one in seen.SKIPPED])
        """
    assert Run(tmp_path, code).out.strip() == (f"passed over: {reason}" if reason else "")
