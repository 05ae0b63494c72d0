"""One model, many laptops: a class trains it together, with learners that come and go.

    python -m helpers.together host                 on the teacher's machine; it prints the next
    python -m helpers.together join http://… CODE   on each student's, or in three terminals

Lesson 21's decoupled learners, over HTTP: a laptop fetches the weights, takes inner steps on
stories of its own, delivers each fragment's change without waiting for it, and goes on from what
the host has merged. How they merge and learn is lesson 21's code (`DP/never_stops`: `rules.merge`,
`syncer.Syncer`, `learner.learn_from`), and what they learn is `DP/together/classroom.py`; here is
what a room full of strangers needs on top. Each of these imports only from those above it:

    payloads     arrays and facts as bytes (safetensors and JSON), and every check of them
    guards      what a merge makes of changes that may be hostile: clip, trimmed mean, median
    roster      who is there: code, nicknames, secrets, rates, and who has fallen silent
    lab         the only one that knows the clone's scripts: the syncer, the learner, the model
    table       the host without a network: deliveries, tickets, merges; saved, and resumed
    page        the projector's page as text; assets/ has its HTML, CSS and JavaScript
    server      HTTP around the table (tornado): limits, and one sentence for what's wrong
    client      a laptop: HTTP that waits for a lost host, and the learner behind it
    stress      forty learners, of which some are killed and some malicious
    __main__    the commands

Only learners open connections. A delivery is posted, answered at once, and asked about until its
merge is there, so no request hangs for longer than a message travels. It carries a ticket: the host
saves the tickets of what it has merged with the weights, in one file that's replaced whole. So a
learner whose host was killed learns from its ticket whether the delivery counts, and sends it again
if it doesn't: nothing is merged twice, and nothing is lost. docs/security.md has who is trusted.
"""
