"""GPUs, one row each, from their datasheets. To add a GPU, add a row.

Rates of TF32 and 16-bit tensor cores are dense rates. The launch cost is an assumption. Nothing here is measured.
"""

from __future__ import annotations

from prism_explore.targets.machine import Target


def _gpu(
    name: str,
    tf32: float,
    half: float,
    dram: float,
    *,
    sms: int,
    shared_kib: int,
    l2_mib: int,
    source: str,
) -> Target:
    return Target(
        name=name,
        kind="gpu",
        peak_flops_per_s=tf32,
        peak_half_flops_per_s=half,
        dram_bytes_per_s=dram,
        shared_memory_bytes=shared_kib << 10,
        caches_bytes=(shared_kib << 10, l2_mib << 20),
        cores=sms,
        max_blocks=2**31 - 1,
        max_threads=1024,
        launch_s=3e-6,
        source=f"{source}; launch cost assumed, 3 us",
        measured=False,
    )


GPUS: dict[str, Target] = {
    row.name: row
    for row in (
        _gpu(
            "a100",
            156e12,
            312e12,
            2.039e12,
            sms=108,
            shared_kib=163,
            l2_mib=40,
            source="NVIDIA A100 80GB SXM datasheet and A100 whitepaper, table 4",
        ),
        _gpu(
            "h100",
            494.7e12,
            989.4e12,
            3.35e12,
            sms=132,
            shared_kib=227,
            l2_mib=50,
            source="NVIDIA H100 SXM5 datasheet and H100 whitepaper, table 2",
        ),
        _gpu(
            "h200",
            494.7e12,
            989.4e12,
            4.8e12,
            sms=132,
            shared_kib=227,
            l2_mib=50,
            source="NVIDIA H200 SXM datasheet; chip as H100 SXM5",
        ),
        _gpu(
            "b200",
            1.1e15,
            2.25e15,
            8e12,
            sms=148,
            shared_kib=227,
            l2_mib=126,
            source="NVIDIA DGX B200 datasheet, one eighth, sparse rates halved",
        ),
        _gpu(
            "mi300x",
            653.7e12,
            1307.4e12,
            5.3e12,
            sms=304,
            shared_kib=64,
            l2_mib=256,
            source="AMD Instinct MI300X data sheet and CDNA 3 white paper; the last cache is the Infinity Cache",
        ),
        _gpu(
            "rtx4090",
            82.6e12,
            165.2e12,
            1.008e12,
            sms=128,
            shared_kib=99,
            l2_mib=72,
            source="NVIDIA Ada GPU architecture whitepaper, appendix A",
        ),
    )
}
"""Quoted, never measured here."""
