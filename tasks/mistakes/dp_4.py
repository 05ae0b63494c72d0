"""Wrong ways to do DP-4, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def complete(
    take="bucket.take(p)",
    count="bucket.left -= 1",
    when="while self.next < len(self.buckets) and self.buckets[self.next].left == 0:",
    leave="self.leave(self.buckets[self.next])",
    move="self.next += 1",
):
    """The right answer with one of its parts done in another way."""
    return f"""
        bucket = self.bucket_of[p]
        {take}
        {count}
        {when}
            {leave}
            {move}
        """


MISTAKES = (
    PlantedMistake(
        "only one leaves",
        complete(when="if self.next < len(self.buckets) and self.buckets[self.next].left == 0:"),
        says="one complete gradient may set several free",
    ),
    PlantedMistake("never leaves", complete(when="while False:"), says="0 of"),
    PlantedMistake("not taken", complete(take="pass"), says="did its bucket take it?"),
    PlantedMistake(
        "leaves too early",
        complete(
            when="if self.next < len(self.buckets):",
        ),
        says="before the gradient of",
    ),
    PlantedMistake(
        "sends half",
        complete(take="bucket.take(p); p.grad.mul_(0.5)"),
        says="is not the mean of the ranks'",
    ),
    PlantedMistake(
        "its own turn",
        complete(when="if bucket.left == 0:", leave="self.leave(bucket)", move="pass"),
        says="each leaves once",
    ),
    PlantedMistake(
        "a second time",
        complete(leave="self.leave(self.buckets[self.next]); self.leave(self.buckets[self.next])"),
        says="each leaves once",
    ),
)

ALSO_RIGHT = {
    "plain": complete(),
    "a loop over all": """
        bucket = self.bucket_of[p]
        bucket.take(p)
        bucket.left -= 1
        for ready in self.buckets[self.next :]:
            if ready.left:
                break
            self.leave(ready)
            self.next += 1
        """,
}
