"""What the processes of a run tell each other: which rows are whose, sums over all, and each one's own state."""

from typing import Any

from torch import Tensor, distributed


def rank_and_count() -> tuple[int, int]:
    """The number of the process and how many there are: (0, 1) where there is one."""
    return (distributed.get_rank(), distributed.get_world_size()) if distributed.is_initialized() else (0, 1)


def own(rows: Tensor) -> Tensor:
    """The rows of a batch that are this process's, every n-th; the first one for a process that has none."""
    rank, count = rank_and_count()
    return rows[rank::count] if len(rows) > rank else rows[:1]


def summed(values: Tensor) -> Tensor:
    """The sum over all processes."""
    if rank_and_count()[1] > 1:
        distributed.all_reduce(values)
    return values


def gathered(value: Any) -> list[Any]:
    """The value of each process."""
    count = rank_and_count()[1]
    found = [value] * count
    if count > 1:
        distributed.all_gather_object(found, value)
    return found
