"""Room 3: what a dump of IREE's configurations tells of one executable, beside the name of its pipeline.

    %17 = linalg.generic {indexing_maps = [...], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%13, %14 : tensor<?x96xf16>, tensor<96x160xf16>) ... {lowering_config = #iree_gpu.lowering_config<{thread = ...}>}

A matrix product on a GPU whose target has a matrix instruction for its types, and whose configuration names none
(`mma_kind`), is computed by scalar or vector arithmetic. On the CPU `DoubleTilingExpert` vectorizes most
operations; a window that slides (convolution, pooling) and a reduction of several results (argmax) it may leave as
scalar loops, which only the vectorization check tells. One dimension of a window was seen both ways.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Rule, Sighting
from fallback_gate.compilers.runtimes.iree_errors import NAME, dispatch_names
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

LONGEST = 50_000  # lines of one executable
MOST_HEAD = 60  # lines between an executable's first one and its function

OF_PIPELINE = r"translation_info<(?:pipeline = )?(?:#iree_\w{1,20}\.\w{0,20}pipeline<)?"
_PIPELINE = Pattern(OF_PIPELINE + r"(?:CPU|LLVMGPU|SPIRV|VMVX)?(?P<name>\w{1,80})")
_KNOWN = {
    "Default", "Distribute", "BaseDistribute", "BaseLowering", "DoubleTilingExpert", "ConvTileAndDecomposeExpert",
    "Mmt4dTilingExpert", "DataTiling", "BufferOpsTileAndVectorize", "LinalgExtTileAndVectorize", "TileAndFuse",
    "VectorDistribute", "Vectorize", "BaseVectorize", "MatmulPromoteVectorize", "CooperativeMatrixVectorize",
    "SubgroupReduce", "WarpReduction", "WinogradVectorize",
}  # fmt: skip
_MAY_STAY_SCALAR = Pattern(
    r"linalg\.generic .{0,4000}?-> \([^)]{0,200}\bd\d{1,2}(?: \* \d{1,9})? \+ d\d"
    r"|linalg\.(?:depthwise_)?(?:conv_[23]d|pooling)"
    r"|linalg\.generic .{0,4000}?\"reduction\".{0,4000}?\bouts\(%[\w#]{1,40}, %"
)
_INTRINSICS = Pattern(r"\bmma = \[(?P<list>[^\]]{1,8000})\]")
_GENERIC = Pattern(
    r"linalg\.generic \{indexing_maps = \[affine_map<[^>]{1,200}-> \((?P<left>[^)]{1,100})\)>, "
    r"affine_map<[^>]{1,200}-> \((?P<right>[^)]{1,100})\)>, affine_map<[^>]{1,200}-> \((?P<out>[^)]{1,100})\)>\]"
    r".{1,400}?\bins\(%[\w#]{1,40}, %[\w#]{1,40} : tensor<(?:[\d?]{1,20}x){0,8}(?P<type>\w{1,20})>, "
    r"tensor<(?:[\d?]{1,20}x){0,8}(?P=type)>\).{1,800}?lowering_config = #iree_gpu\.lowering_config<(?P<how>.*)"
)
_NARROW = ("f16", "bf16", "i8", "f8", "f6", "f4")


def _without_matrix_unit(line: str, intrinsics: str) -> str | None:
    """The type of a matrix product that the line computes without the instruction that the target has for it."""
    product = _GENERIC.search(line)
    if product is None or "mma_kind" in product["how"] or " thread = [" not in product["how"]:
        return None
    left, right, out = (set(product[side].split(", ")) for side in ("left", "right", "out"))
    summed, rows, columns = (left & right) - out, (left & out) - right, (right & out) - left
    if not (summed and rows and columns) or f"_{product['type'].upper()}>" not in intrinsics:
        return None
    return product["type"]


def _intrinsics(record: Record) -> str:
    """The matrix instructions of the target, as the executable's variant above the function lists them."""
    for line in record.preceding(MOST_HEAD):
        if "hal.executable.variant " in line.text:
            listed = _INTRINSICS.search(line.text)
            return listed["list"] if listed else ""
    return ""


def product(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A dispatch with a matrix product of a narrow type that takes no matrix instruction."""
    intrinsics = _intrinsics(record)
    if not intrinsics:
        return
    for line in record.following(LONGEST):
        if "func.func " in line.text or line.text.startswith("}"):
            return
        lost = _without_matrix_unit(line.text, intrinsics)
        if lost and lost.startswith(_NARROW):
            names = dispatch_names(match["dispatch"])
            yield by_groups(rule, record, match)._replace(
                op=names[0],
                names=names,
                stack=names[1:2],
                reason=f"a product of {lost} whose configuration names no matrix instruction",
            )
            return


_VARIANT = (
    '  hal.executable.variant public @rocm_hsaco_fb target(<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = '
    '#iree_gpu.target<arch = "gfx942", wgp = <mma = [<MFMA_F32_16x16x16_BF16>, <MFMA_F32_16x16x16_F16>]>>}>) {'
)
_HEAD = (
    "      func.func @serve_dispatch_0_matmul_Dx160x96_f16xf16xf32() attributes {translation_info = "
    "#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1]>} {"
)
_PRODUCT = (
    "        %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> "
    "(d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["
    '"parallel", "parallel", "reduction"]} '
    "ins(%13, %14 : tensor<?x96xf16>, tensor<96x160xf16>) outs(%16 : tensor<?x160xf32>) attrs =  {lowering_config = "
    "#iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 4], thread = [1, 1, 0], workgroup = [1, 64, 0]}>} {"
)
_WITH = _PRODUCT.replace("<{promote", "<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote")
NO_MATRIX_UNIT = Rule(
    id="iree/no-matrix-instruction",
    compiler=NAME,
    anchor=("translation_info<",),
    pattern=rf"^\s*func\.func @(?P<dispatch>[\w$.-]{{1,300}})\(.*?{OF_PIPELINE}(?:LLVMGPU)?(?:TileAndFuse|VectorDistribute)\b",
    kind=Kind.SLOWER_KERNEL,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The target has a matrix instruction for the types of the product, and the dispatch computes it without.",
    help="Give the product static dimensions that are multiples of the instruction's, or pad it.",
    seen_in="3.13 (run), --iree-hal-dump-executable-configurations-to=-",
    matches=("\n".join((_VARIANT, _HEAD, _PRODUCT)),),
    ignores=(
        "\n".join((_VARIANT, _HEAD, _WITH)),
        "\n".join((_HEAD, _PRODUCT)),
        "\n".join((_VARIANT.replace("_F16>", "_F8E4M3FNUZ>"), _HEAD, _PRODUCT)),
    ),
    read=product,
)


def dumped(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """How an executable of the dump stands: `cut`, without a pipeline (`none`), with an `unknown` one, or `whole`.

    In place of `whole`: `scalar` where operations in it may stay scalar loops, `product` where a product takes
    no matrix instruction of its target.
    """
    state, intrinsics, pipeline, doubt = "none", "", "", ""
    for line in record.following(LONGEST):
        if listed := _INTRINSICS.search(line.text):
            intrinsics = listed["list"]
        if found := _PIPELINE.search(line.text):
            pipeline = found["name"]
            state = "whole" if pipeline in _KNOWN and state != "unknown" else "unknown"
        elif pipeline == "DoubleTilingExpert" and _MAY_STAY_SCALAR.search(line.text):
            doubt = "scalar"
        elif intrinsics and _without_matrix_unit(line.text, intrinsics):
            doubt = "product"
        if line.text.startswith("}"):
            yield Sighting(
                marker.id, record.position, (match["name"], doubt if doubt and state == "whole" else state)
            )
            return
        if line.text.startswith("hal.executable "):
            break
    yield Sighting(marker.id, record.position, (match["name"], "cut"))


DUMPED = Marker(
    id="iree/executable-dumped",
    compiler=NAME,
    anchor=("hal.executable public @", "hal.executable private @"),
    pattern=r"^hal\.executable (?:public|private) @(?P<name>[\w$.-]{1,300}) \{",
    shows="The configuration of an executable was dumped: whole, without a pipeline, or cut.",
    seen_in="2.9 to 3.13 (run)",
    matches=("hal.executable public @gate_attn_dispatch_0 {",),
    ignores=("  hal.executable public @nested {",),
    read=dumped,
)
WHY_NOT = {
    "cut": "the dump of an executable is cut",
    "none": "an executable has no pipeline, or one that is not known here",
    "unknown": "an executable has no pipeline, or one that is not known here",
    "scalar": "a sliding window or a reduction of several results may stay scalar loops under its pipeline: "
    "--iree-llvmcpu-check-linalg-vectorization tells",
    "product": "a matrix product takes no matrix instruction, though its target has one for its types",
}
