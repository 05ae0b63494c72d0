"""Wrong ways to do GP-5, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def tick(
    job="lambda i=i, j=j: self.one(j, i, batches[i])",
    between="",
    failed="raise answer[1]",
    keep="batches[i] = answer[1]",
):
    """The right answer in other words, with one of its parts done in another way."""
    return f"""
        asked = {{}}
        for i, j in schedule:
            asked[j] = i
            self.in_queues[j].put(Task({job}))
            {between}
        for j, i in asked.items():
            done, answer = self.out_queues[j].get()
            if not done:
                {failed}
            {keep}
        """


MISTAKES = (
    PlantedMistake(
        "one after the other",
        """
        for i, j in schedule:
            self.in_queues[j].put(Task(partial(self.one, j, i, batches[i])))
            done, answer = self.out_queues[j].get()
            if not done:
                raise answer[1]
            batches[i] = answer[1]
        """,
        says="work one after the other",
    ),
    PlantedMistake(
        "without workers",
        "for i, j in schedule:\n    batches[i] = self.one(j, i, batches[i])",
        says="work one after the other",
    ),
    PlantedMistake(
        "all see the last",
        """
        todo = list(schedule)
        i, j = todo[-1]
        for _, part in todo:
            self.in_queues[part].put(Task(lambda: self.one(part, i, batches[i])))
        for k, part in todo:
            done, answer = self.out_queues[part].get()
            if not done:
                raise answer[1]
            batches[k] = answer[1]
        """,
        says="let each task keep its own i and j",
    ),
    PlantedMistake("results forgotten", tick(keep="pass"), says="put each result into batches[i]"),
    PlantedMistake("errors swallowed", tick(failed="continue"), says="raise the worker's error"),
    PlantedMistake(
        "always part 0",
        tick(job="lambda i=i: self.one(0, i, batches[i])"),
        says="is not what the layers make of it",
    ),
)
ALSO_RIGHT = {"a dictionary": tick()}
