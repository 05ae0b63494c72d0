"""GP-5: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
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
)

RIGHT = {
    "a dictionary": """
        asked = {}
        for i, j in schedule:
            asked[j] = i
            self.in_queues[j].put(Task(lambda i=i, j=j: self.one(j, i, batches[i])))

        for j, i in asked.items():
            done, answer = self.out_queues[j].get()
            if not done:
                raise answer[1]
            batches[i] = answer[1]
        """,
}
