"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "where_time_goes-1": Prediction(
        "C",
        A="Each is short: 7.5 ms, and 10 on the slow rank. Count them as one sum, and compare it "
        "with 30 % of the computing.",
        B="Three of the four buckets travel behind backward. Only the last one is exposed.",
        C="A step ends when the slowest rank's gradients have arrived, so every rank pays for the "
        "slow one. 30 % of all computing is more than all launch gaps together, and far more than "
        "the one bucket that sticks out.",
    ),
    "where_time_goes-3": Prediction(
        "C",
        A="The time in an all-reduce counts from a rank's own arrival, and it arrives last.",
        B="They all leave together, but they don't arrive together.",
        C="For the rank that comes last, an all-reduce is a transfer and nothing else; for the "
        "others it's the transfer and the wait for that rank. A table sorted by time puts the "
        "victims at the top.",
    ),
    "where_time_goes-4": Prediction(
        "A",
        A="2.3 million tokens of 4 bytes each second are 9 MB/s for all 16,384 GPUs: training "
        "computes 6 x 405 billion FLOPs for each of these tokens.",
        B="Divide 15.6e12 tokens by the 1,882 hours: even the whole text is just 62 TB.",
        C="Even that would be little beside what moves between the GPUs. The text itself is tiny.",
    ),
    "where_time_goes-8": Prediction(
        "C",
        A="That holds where FLOPs are what takes the time. At width 256 the MFU is 1 %.",
        B="They do come closer, but as long as the GPU waits for its next kernel, neither FLOPs "
        "nor peak matter.",
        C="Both steps have about 890 kernels, and at both widths the host needs 21 ms to launch "
        "them. The GPU computes for 4 ms of the one and 9 ms of the other; the rest is waiting.",
    ),
    "where_time_goes-6": Prediction(
        "A",
        A="The mask takes the other documents out of the softmax, and rotary positions enter as "
        "differences only.",
        B="With learned or sinusoidal positions they would be. Rotary ones are only compared with "
        "each other.",
        C="The mask sets their scores to minus infinity before the softmax, so their weight is 0, "
        "in the sum of the exponentials, too.",
    ),
}
NUMBERS = {
    "where_time_goes-2": Number(
        40.4,
        unit="%",
        tolerance=0.6,
        because="400 / 989. The paper's table has 41 %, so its 400 must be rounded too.",
        slips={20.2: "That's with a peak of 1,979 TFLOP/s, which an H100 has for 8-bit numbers."},
    ),
    "where_time_goes-5": Number(
        3,
        unit="workers",
        because="Two workers finish a batch every 60 ms, which is too slow for steps of 50 ms; "
        "three finish one every 40 ms.",
        slips={
            2: "Two workers finish a batch every 60 ms, and the rank wants one every 50.",
            2.4: "That's 120 / 50, but there are only whole workers.",
        },
    ),
    "where_time_goes-7": Number(
        41,
        because="Steps 0 to 40 read windows 0 to 983. Step 41 reads the last 16 of the first epoch "
        "and the first 8 of the second.",
        slips={
            42: "By then 1,008 windows have been read: the second epoch has begun in step 41.",
            40: "Step 40 reads windows 960 to 983.",
        },
    ),
}
