"""Room 3: a run that failed proves nothing, whatever its compiler printed before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers import ending

Read = Callable[..., Any]

MODULE = [
    "@I.ir_module",
    "class Module:",
    "    @R.function",
    '    def fused_tensorrt(x: R.Tensor((16, 64), dtype="float32")) -> R.Tensor((16, 4), dtype="float32"):',
    '        R.func_attr({"Codegen": "tensorrt"})',
    "        return gv",
    "    @R.function",
    '    def main(x: R.Tensor((16, 64), dtype="float32")) -> R.Tensor((16, 4), dtype="float32"):',
    "        cls = Module",
    '        lv: R.Tensor((16, 4), dtype="float32") = cls.fused_tensorrt(x)',
    "        return lv",
    "",
]
RAISED = [
    "Traceback (most recent call last):",
    '  File "/app/serve.py", line 40, in <module>',
    "    main()",
    "KeyError: 3",
]
TORCHRUN = [
    "Traceback (most recent call last):",
    '  File "/usr/local/bin/torchrun", line 8, in <module>',
    "    sys.exit(main())",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "============================================================",
    "serve.py FAILED",
    "------------------------------------------------------------",
    "Root Cause (first observed failure):",
    "[0]:",
    "  exitcode  : 1 (pid: 4711)",
    "============================================================",
]

CRASHED = [  # as glibc, abseil, C++'s runtime and Python print them before the process ends
    "a.out: a.c:4: main: Assertion `c==9' failed.",
    "iree-compile: /w/llvm/Value.h:90: T &Value::get(): Assertion `this->isa<T>()' failed.",
    "free(): double free detected in tcache 2",
    "free(): invalid pointer",
    "malloc(): corrupted top size",
    "double free or corruption (out)",
    "munmap_chunk(): invalid pointer",
    "*** stack smashing detected ***: terminated",
    "*** SIGABRT received at time=1795998201 on cpu 1 ***",
    "F1130 18:13:19.747962   24106 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --no_such_flag",
    "terminate called without an active exception",
    "libc++abi: terminating due to uncaught exception of type std::bad_alloc",
    "LLVM ERROR: out of memory",
    "Fatal Python error: Segmentation fault",
]
LLVM = [
    "PLEASE submit a bug report to https://github.com/iree-org/iree/issues and include the crash backtrace.",
    "Stack dump:",
    "0.\tProgram arguments: iree-compile sonar.mlir -o x.vmfb",
    "1.\tRunning pass 'X86 DAG->DAG Instruction Selection' on function '@ping_dispatch_0'",
    " #0 0x00007f12a1c0e2f4 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) (/opt/lib/libIREECompiler.so+0x3c0e2f4)",
    *(f"#{n} 0x00007f12a1c0e{n:03x} (/opt/lib/libIREECompiler.so+0x3c0e{n:03x})" for n in range(1, 60)),
]


@pytest.mark.parametrize(
    ("end", "failed"),
    [
        (RAISED, True),
        ([f"2026-11-30T12:00:00.0000000Z {line}" for line in RAISED], True),
        ([*RAISED, "", "##[error]Process completed with exit code 1."], True),
        (TORCHRUN, True),
        ([*(f"[rank1]: {line}" for line in RAISED), *(f"[rank0]: request {n}" for n in range(60))], True),
        (["./serve.sh: line 3:  4711 Segmentation fault      (core dumped) python serve.py"], True),
        (["Segmentation fault (core dumped)"], True),
        (["Killed"], True),
        (["bash: line 1:   449 Killed                  python serve.py"], True),
        (
            ["terminate called after throwing an instance of 'std::bad_alloc'", "  what():  std::bad_alloc"],
            True,
        ),
        *(([said], True) for said in CRASHED),
        ([*CRASHED, *["served a request"] * ending.NEAR], False),
        (LLVM, True),
        (LLVM[5:], True),  # its frames alone are so long that nothing else is left
        (["iteration 12 0x1f", "1.\t", "served 12 requests"], False),
        (["results", "1.\tdone", "2.\tdone"], False),
        (["addresses", "  1 0x7f12a1c0e2f4", "  2 0x7f12a1c0e2f8"], False),
        (["    @     0x7f12a1c0e2f4  tensorflow::Run()", "    @     0x7f12a1c0e2f8  (unknown)"], True),
        (["  #1 0x7f12 is where the table begins", "served 12 requests"], False),
        (["##[error]Process completed with exit code 137.", "Post job cleanup."], True),
        (["##[error]Process completed with exit code 1.", *["Removing a file of the runner"] * 60], True),
        (["Killed", *["served a request"] * ending.NEAR], False),
        (["ERROR: Job failed: exit code 1"], True),
        (["ERROR: script returned exit code 1", "Finished: FAILURE"], True),
        (["srun: error: node7: task 0: Exited with exit code 1"], True),
        (
            ["slurmstepd: error: *** JOB 71 ON node7 CANCELLED AT 2026-11-30T12:00:00 DUE TO TIME LIMIT ***"],
            True,
        ),
        (["##[error]The operation was canceled.", "Post job cleanup."], True),
        (["Error: Process completed with exit code 1."], True),
        (["Build step 'Execute shell' marked build as failure", "Finished: FAILURE"], True),
        (["Finished: ABORTED"], True),
        (["slurmstepd: error: Detected 1 oom_kill event", "srun: error: node7: task 0: Out Of Memory"], True),
        (["zsh: segmentation fault  python serve.py"], True),
        (["Killed: 9"], True),
        (["Aborted!"], True),
        (["Command exited with non-zero status 1", '\tCommand being timed: "python serve.py"'], True),
        (["command terminated with exit code 137"], True),
        (["terminate called without an active exception"], True),
        (["gate-1 exited with code 137"], True),
        (["fish: Job 1, 'python serve.py' terminated by signal SIGSEGV (Address boundary error)"], True),
        (["make: *** [Makefile:12: compile] Error 1"], True),
        (["make[2]: *** [compile] Segmentation fault (core dumped)"], True),
        (["mpirun noticed that process rank 3 with PID 4711 on node n1 exited on signal 9 (Killed)."], True),
        (["MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD"], True),
        (["make: [Makefile:12: clean] Error 1 (ignored)"], False),
        (["gate-1 exited with code 0"], False),
        (["Finished: SUCCESS"], False),
        (["command terminated with exit code 0"], False),
        (["Aborted requests: 0"], False),
        (["The operation was canceled. It was tried again"], False),
        ([*RAISED, *(f"served request {number}" for number in range(ending.NEAR))], False),
        (["Exception ignored in: <function Pool.__del__ at 0x7f>", *RAISED], False),
        (["Killed the old server first", "served 12 requests"], False),
        (["##[error]Process completed with exit code 0."], False),
        (["no Segmentation fault was seen"], False),
        (["served 12 requests"], False),
    ],
)
def test_a_run_that_failed_proves_nothing(end: list[str], failed: bool, read: Read) -> None:
    said = read(*MODULE, *end)
    (by,) = said.evidence.processes.values()
    assert bool(by["tvm.byoc"].trouble) is failed
    assert bool(said.evidence.failed) is failed


def test_the_line_that_says_so_is_told(read: Read) -> None:
    said = read(*MODULE, "##[error]Process completed with exit code 137.")
    assert said.evidence.failed == (
        "the run failed, as the log's end says: Process completed with exit code 137."
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Traceback (most recent call last):", True),
        ("[rank0] Traceback (most recent call last):", True),
        ("KeyboardInterrupt", True),
        ("Killed process 4711 (python) total-vm:1kB", True),
        ("pure virtual method called, core dumped", True),
        ("terminate called after throwing an instance of 'std::bad_alloc'", True),
        ("srun: error: node7: task 0: Exited with exit code 1", True),
        ("bash: line 1:   449 Killed                  python serve.py", True),
        ("##[error]anything", True),
        ("", False),
        ("step 12 done", False),
        ("Test Error: 0.05", False),
        ("exit code 0", False),
    ],
)
def test_the_line_behind_a_message_may_tell_that_the_program_broke_off(line: str, told: bool) -> None:
    assert ending.breaks_off(line) is told
