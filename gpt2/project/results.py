"""What an epoch gave, kept as JSON."""

import json
from pathlib import Path
from typing import NamedTuple

from wrong_input import WrongInput


class Result(NamedTuple):
    """One epoch on one rank, or of one pipeline.

    validation_loss: nats per token, over all ranks. bleu: 0 to 100, over all ranks.
    training_time: seconds. tokens_per_sec: of this rank alone, without padding.
    """

    validation_loss: float
    bleu: float
    training_time: float
    tokens_per_sec: float

    def __str__(self):
        return (
            f"loss {self.validation_loss:.3f}, BLEU {self.bleu:.1f}, {self.training_time:.1f} s, "
            f"{self.tokens_per_sec:,.0f} tokens/s"
        )

    def save(self, workdir, epoch, who):
        """Write WORKDIR/{who}_results_epoch{epoch}.json; who: "rank0", "pipeline_parallel"."""
        path = Path(workdir) / f"{who}_results_epoch{epoch}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self._asdict(), indent=1) + "\n", encoding="utf-8")


def forget(workdir, who):
    """Delete the results of an earlier run, which may have had more epochs."""
    for path in Path(workdir).glob(f"{who}_results_epoch*.json"):
        path.unlink()


def read_epochs(workdir, who):
    """Return the results of every epoch but the first, which warms up, unless it's the only one."""
    count = len(list(Path(workdir).glob(f"{who}_results_epoch*.json")))
    found = []
    for epoch in range(min(1, count - 1), count) if count else [0]:
        path = Path(workdir) / f"{who}_results_epoch{epoch}.json"
        try:
            found.append(Result(**json.loads(path.read_text(encoding="utf-8"))))
        except OSError:
            raise WrongInput(f"there is no {path}: run the training that writes it first") from None
        except (ValueError, TypeError) as error:
            raise WrongInput(f"{path} is no result of a training ({error}): run it again") from None
    return found
