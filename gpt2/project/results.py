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
        """Write WORKDIR/{who}_results_epoch{epoch}.json; who: "rank0", "pipeline_parallel".

        With the first epoch go the results of an earlier run, which may have had more.
        """
        folder = Path(workdir)
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob(f"{who}_results_epoch*.json") if epoch == 0 else ():
            path.unlink()
        path = folder / f"{who}_results_epoch{epoch}.json"
        path.write_text(json.dumps(self._asdict(), indent=1) + "\n", encoding="utf-8")


def read_epochs(workdir, who):
    """Return the results of every epoch but the first, which warms up, unless it's the only one."""
    folder = Path(workdir)
    count = max(1, len(list(folder.glob(f"{who}_results_epoch*.json"))))
    paths = [folder / f"{who}_results_epoch{epoch}.json" for epoch in range(count)]
    try:
        texts = [path.read_text(encoding="utf-8") for path in paths[1:] or paths]
        return [Result(**json.loads(text)) for text in texts]
    except (OSError, ValueError, TypeError) as error:
        told = f"no result of {who} in {folder} ({error}): run the training that writes it first"
        raise WrongInput(told) from None
