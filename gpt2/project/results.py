"""What an epoch gave, kept as JSON."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from wrong_input import WrongInput

from helpers.files import write_whole

FACTS = ("validation_loss", "bleu", "training_time", "tokens_per_sec")


@dataclass(frozen=True)
class Result:
    """One epoch on one rank, or of one pipeline.

    validation_loss: nats per token, over all ranks. bleu: 0 to 100, over all ranks.
    training_time: seconds. tokens_per_sec: of this rank alone, without padding.
    """

    validation_loss: float
    bleu: float
    training_time: float
    tokens_per_sec: float

    def __str__(self) -> str:
        return (
            f"loss {self.validation_loss:.3f}, BLEU {self.bleu:.1f}, {self.training_time:.1f} s, "
            f"{self.tokens_per_sec:,.0f} tokens/s"
        )

    def save(self, path: str | Path) -> Path:
        return write_whole(path, json.dumps(asdict(self), indent=1) + "\n")


def path_of(workdir: str | Path, epoch: int, who: str = "rank0") -> Path:
    return Path(workdir) / f"{who}_results_epoch{epoch}.json"


def forget(workdir: str | Path, who: str) -> None:
    """Delete the results of an earlier run, which may have had more epochs."""
    for path in Path(workdir).glob(f"{who}_results_epoch*.json"):
        path.unlink()


def read(path: str | Path) -> Result:
    """Raises WrongInput for a file that is not there, or is no result."""
    try:
        facts = json.loads(Path(path).read_text(encoding="utf-8"))
        return Result(**{name: float(facts[name]) for name in FACTS})
    except OSError:
        raise WrongInput(f"there is no {path}: run the training that writes it first") from None
    except (ValueError, TypeError, KeyError) as error:
        raise WrongInput(f"{path} is no result of a training ({error}): run it again") from None


def read_epochs(workdir: str | Path, who: str) -> list[Result]:
    """The results of every epoch but the first, which warms up; of the first where it is alone.

    Raises WrongInput where there is none.
    """
    count = len(list(Path(workdir).glob(f"{who}_results_epoch*.json")))
    epochs = range(min(1, count - 1), count) if count else [0]
    return [read(path_of(workdir, epoch, who)) for epoch in epochs]
