# The package alone: its wheel in an empty environment, used in a folder that is no clone.
here
clone lab
in_lab "python3 -m venv --clear .venv && .venv/bin/pip wheel -q --no-deps -w build/wheel ."
in_lab ".venv/bin/pip install -qq build/wheel/*.whl && mkdir -p ~/away && cp primer/intro.py jobs/hello.py ~/away"
away() { in_lab ". .venv/bin/activate && cd ~/away && $1"; }
away "python -m helpers.doctor 2>&1 | grep 'this is the installed package'"
away "lab-ranks -n 2 hello.py"
away "python intro.py --from best --steps 2 --trace step.json"
away "lab-timeline step.json -o step.html && ls -l step.html"
away "lab-trace step.json | head -n 3"
away "lab-play --help | head -n 3"
