"""Data parallelism: the mean of what the ranks hold, in arithmetic."""


def mean(tensors):
    return (sum(t.double() for t in tensors) / len(tensors)).to(tensors[0].dtype)


def mean_of_gradients(case):
    return [
        {
            "weight": {name: weight for name, (weight, _) in own.items()},
            "gradient": {
                name: None if gradient is None else mean([rank[name][1] for rank in case])
                for name, (_, gradient) in own.items()
            },
        }
        for own in case
    ]


def mean_of_weights(case):
    return [
        {
            "weight": {name: mean([rank[name][0] for rank in case]) for name in own},
            "gradient": {name: gradient for name, (_, gradient) in own.items()},
            "replaced": [],
        }
        for own in case
    ]


def mean_of_each_column(case):
    (_, stages), ranks = case
    columns = [mean_of_gradients(ranks[stage::stages]) for stage in range(stages)]
    return [columns[rank % stages][rank // stages] for rank in range(len(ranks))]


CLOSED_FORMS = {
    "DP-1": mean_of_gradients,
    "DP-2": mean_of_weights,
    "GP-2": mean_of_gradients,
    "DP-PP-1": mean_of_each_column,
}
