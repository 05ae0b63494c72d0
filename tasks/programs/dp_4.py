"""Programs for DP-4: wrong ones, most of which train without a sign of it, and right ones."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "only one leaves",
        """
        bucket = self.bucket_of[p]
        bucket.take(p)
        bucket.left -= 1
        if self.next < len(self.buckets) and self.buckets[self.next].left == 0:
            self.leave(self.buckets[self.next])
            self.next += 1
        """,
        says="one complete gradient may set several free",
    ),
    Program(
        "not taken",
        """
        bucket = self.bucket_of[p]
        bucket.left -= 1
        while self.next < len(self.buckets) and self.buckets[self.next].left == 0:
            self.leave(self.buckets[self.next])
            self.next += 1
        """,
        says="did its bucket take it?",
    ),
    Program(
        "leaves too early",
        """
        bucket = self.bucket_of[p]
        bucket.take(p)
        bucket.left -= 1
        if self.next < len(self.buckets):
            self.leave(self.buckets[self.next])
            self.next += 1
        """,
        says="before the gradient of",
    ),
)

RIGHT = {
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
