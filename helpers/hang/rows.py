"""Where each rank of a scene stands, row by row and as a picture."""

from helpers.draw import Picture
from helpers.hang.log import Standing
from helpers.hang.needs import Scene
from helpers.hang.places import Where, locate
from helpers.waits import Wait, picture


def rows(scene: Scene) -> str:
    """Where each rank stands, with its line, and where its other threads do."""
    told = []
    for rank in sorted({*scene.standings, *scene.ended, *scene.silent}):
        if rank not in scene.standings:
            does = "has finished" if rank in scene.ended else "did not answer"
            told.append(f"  rank {rank} {does}")
            others = scene.others(rank)
        else:
            standing = scene.standings[rank]
            told += _row(f"  rank {rank} {_doing(standing)}", _place(scene, standing))
            others = standing.others
        for other in others:
            place = locate([other.since] if other.waiting else other.frames, scene.cells)
            if other.waiting or place.line:
                doing = other.waiting.doing if other.waiting else "is at work"
                told += _row(f"  rank {rank}, in {other.name or 'the main thread'}, {doing}", place)
    return "\n".join(told)


def _row(does: str, place: Where) -> list[str]:
    return [does + (place.phrase or " outside of your code"), *([place.line] if place.line else [])]


def _doing(standing: Standing) -> str:
    """The words after "rank 0"."""
    doing = standing.waiting.doing if standing.waiting else "is at work"
    if standing.returned and standing.thread:
        return f"has come to its end, and waits for {standing.thread}, which {doing}"
    return f"waits for {standing.thread}, which {doing}" if standing.thread else doing


def _place(scene: Scene, standing: Standing) -> Where:
    if standing.waiting:
        return locate([standing.since], scene.cells)
    return locate(standing.frames, scene.cells)


def picture_of(scene: Scene, waits: list[Wait], sentence: str) -> Picture | None:
    """Who waits for whom; None where nobody does."""
    if not waits:
        return None
    working = set(scene.standings) - {wait.who for wait in waits}
    others = {rank: "did not answer" for rank in scene.silent}
    for rank in working:
        standing = scene.standings[rank]
        phrase = _place(scene, standing).phrase.removeprefix(" at ")
        doing = _doing(standing)
        others[rank] = f"{doing}, {phrase}" if phrase else doing
    return picture(waits, scene.ended, others, title=capital(sentence.split(". ")[0]))


def capital(text: str) -> str:
    """A text as it begins a sentence."""
    return text[:1].upper() + text[1:]
