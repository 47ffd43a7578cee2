"""sGraphs with views, maxima, masks, running maxima, rescaled sums and several results, for both code generators."""

from __future__ import annotations

from tests.codegen.graph_files import Case, read

VIEWS = read("views")
WIDER = tuple(VIEWS.values())
FLASH, CAUSAL_FLASH, SPLIT_KV = (VIEWS[name].text for name in ("flash", "causal_flash", "split_kv"))
LORA_CONCAT, LORA_CONCAT_LOOP = (VIEWS[name].text for name in ("lora_concat", "lora_concat_loop"))
MERGED_INSIDE, LATEST = (VIEWS[name].text for name in ("merged_inside", "latest"))


def legal(case: Case, sizes: dict[str, int]) -> bool:
    """Whether every row keeps an entry: a row that a band masks completely has no softmax."""
    match case.name:
        case "causal_flash":
            return sizes["s"] >= sizes["m"]
        case "window":
            return sizes["s"] >= sizes["m"]
        case _:
            return True
