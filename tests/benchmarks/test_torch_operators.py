"""torch's own databases: no traced operator or module disagrees with torch, and what is traced whole stays so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("expecttest")

from benchmarks.torch_operators import KINDS, judge, modules, operators, stored

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

PROBED = (
    "__radd__|addbmm|addcmul|addmv|atan2|baddbmm|block_diag|cdist|copysign|cumsum|diag_embed|dist|einsum|erfinv|fmax|"
    "heaviside|hypot|inner|kron|linalg.(cross|inv)|logsumexp|masked.(mean|softmax)|movedim|nan_to_num|narrow|norm|"
    "ones_like|pow|prod|remainder|renorm|roll|round|std|tensordot|trapezoid|tril|trunc|unflatten|vsplit|xlogy|"
    "nn.functional.(bilinear|conv2d|conv_transpose1d|cosine_similarity|gelu|group_norm|instance_norm|interpolate|"
    "layer_norm|linear|max_pool2d|mse_loss|normalize|pdist|pixel_shuffle|prelu|softmin|softplus|unfold)"
)
"""Names from each group of rows and decompositions; all operators together take minutes."""

PROBED_MODULES = (
    "AdaptiveAvgPool2d|BatchNorm1d|Bilinear|CELU|Conv1d|CosineEmbeddingLoss|CrossEntropyLoss|Embedding|GELU|GroupNorm|"
    "HuberLoss|InstanceNorm2d|KLDivLoss|Linear|LPPool2d|LocalResponseNorm|LSTMCell|MaxPool2d|PReLU|ReflectionPad2d|"
    "RMSNorm|SELU|Softplus|TransformerEncoderLayer|ZeroPad1d"
)


def test_probed_operators_of_torchs_database_are_right(golden):
    verdicts = [judge(entry, count=1) for entry in operators(f"^({PROBED})$")]

    assert [] == [v for v in verdicts if v.kind == "WRONG"]
    golden("frontend/torch_operators", "".join(f"{v.operator:40} {v.kind}\n" for v in verdicts))


def test_probed_modules_of_torchs_database_are_right(golden):
    verdicts = [judge(entry, count=1) for entry in modules(rf"^nn\.({PROBED_MODULES})$")]

    assert [] == [v for v in verdicts if v.kind == "WRONG"]
    golden("frontend/torch_modules", "".join(f"{v.operator:40} {v.kind}\n" for v in verdicts))


def test_the_readme_has_the_counts_of_the_verdicts_of_all_operators_and_modules():
    verdicts = stored(BENCHMARKS / "results" / "2026-11-27-torch-operators.jsonl").values()
    is_module = {v.operator: re.match(r"nn\.[A-Z]", v.operator) is not None for v in verdicts}
    section = (BENCHMARKS / "README.md").read_text().partition("## torch's own operators")[2].partition("\n## ")[0]
    said = [tuple(map(int, row)) for row in re.findall(r"^\|.*\| (\d+) \| (\d+) \|$", section, re.MULTILINE)]

    counted = [
        tuple(
            sum(v.kind == kind and is_module[v.operator] == of_modules for v in verdicts)
            for of_modules in (False, True)
        )
        for kind in KINDS
    ]
    assert said == counted
    assert (702, 114) == tuple(map(sum, zip(*counted, strict=True)))
