from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "where_time_goes-3": Prediction("""
        A) The time in an all-reduce counts from a rank's own arrival, and it arrives last.
        B) They all leave together, but they don't arrive together.
        C* For the rank that comes last, an all-reduce is a transfer and nothing else; for the
        others it's the transfer and the wait for that rank. A table sorted by time puts the victims
        at the top.
    """),
    "where_time_goes-8": Prediction("""
        A) That holds where FLOPs are what takes the time. At width 256 the MFU is 1 %.
        B) They do come closer, but as long as the GPU waits for its next kernel, neither FLOPs nor
        peak matter.
        C* Both steps have about 890 kernels, and at both widths the host needs 21 ms to launch
        them. The GPU computes for 4 ms of the one and 9 ms of the other; the rest is waiting.
    """),
}
