"""`python -m helpers.cards --seed 4711 --count 4 [--key]`, `… exam`, or `… grade answers.csv`.

answers.csv has a row for each card: seed, card, and a column for each question, such as
`4711,2,,no overlap,all,31,98,overlap` below `seed,card,schedule,fault,where,idle,mended,first`.
A measured card is 2m there.
"""

import argparse
import csv
import sys
from pathlib import Path

from helpers.cards.dealing import Card, deal
from helpers.cards.sheet import sheet
from helpers.files import print_pdf


def graded(card: Card, row: dict[str, str]) -> tuple[float, str]:
    """Return a row's points, and the reasons for those that are missing."""
    answers = {q.key: said for q in card.questions if (said := (row.get(q.key) or "").strip())}
    points, reasons = 0.0, []
    for question in card.questions:
        try:
            result = card.grade({k: v for k, v in answers.items() if k == question.key})
            found = result[question.key]
        except ValueError as error:
            reasons.append(str(error))
            continue
        points += found.points
        if found.points < found.of:
            reasons.append(f"{question.key}: {found.words}")
    return points, "; ".join(reasons)


def grade(path: Path, secret: str, out) -> None:
    """Write seed, card, points, of and why as CSV. Raises ValueError for a row without a card."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    table = csv.writer(out)
    table.writerow(["seed", "card", "points", "of", "why"])
    for line, row in enumerate(rows, 2):
        seed, number = (row.get("seed") or "").strip(), (row.get("card") or "").strip()
        plain = number.removesuffix("m")
        if not seed or not plain.isdecimal() or int(plain) < 1:
            raise ValueError(
                f"{path}, line {line}: needs a seed and the number of a card, 1 or more"
            )
        card = deal(seed, int(plain), secret, measured=number != plain)
        points, why = graded(card, row)
        table.writerow([seed, number, f"{points:g}", card.points, why])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m helpers.cards", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["deal", "exam", "grade"], default="deal")
    parser.add_argument("answers", nargs="?", type=Path, help="for grade: the CSV of a class")
    parser.add_argument("--seed", nargs="+", default=["0"], help="a student's number, or several")
    parser.add_argument("--count", type=int, default=4, help="cards for each seed")
    parser.add_argument("--measured", action="store_true", help="steps that real ranks have run")
    parser.add_argument("--key", action="store_true", help="print the answers too")
    parser.add_argument(
        "--secret", type=Path, help="a file only you have: then a seed tells nothing"
    )
    parser.add_argument("--out", type=Path, default=Path("build/cards"), help="where pages go")
    options = parser.parse_args(arguments)
    try:
        secret = options.secret.read_text(encoding="utf-8").strip() if options.secret else ""
        if options.secret and not secret:
            raise ValueError(
                f"{options.secret} is empty: write something into it that nobody knows"
            )
        if options.what == "grade":
            if options.answers is None:
                parser.error("grade needs a file: python -m helpers.cards grade answers.csv")
            grade(options.answers, secret, sys.stdout)
            return 0
        if options.count < 1:
            raise ValueError(f"--count {options.count}: give 1 or more")
        options.out.mkdir(parents=True, exist_ok=True)
        for seed in options.seed:
            if options.what == "exam":
                try:
                    from helpers.cards.exam import exam
                except ImportError:  # its parts and their solutions aren't for students
                    parser.error("exams are drawn in the edition for teachers, with solutions")
                page = exam(seed, options.key, secret)
            else:
                numbers = range(1, options.count + 1)
                cards = [deal(seed, number, secret, options.measured) for number in numbers]
                page = sheet(cards, options.key, f"Trace cards {seed}")
            name = "".join(c if c.isalnum() or c in "-_" else "_" for c in seed)
            name = f"{'exam_' if options.what == 'exam' else ''}{name}"
            target = options.out / f"{name}{'_key' if options.key else ''}.html"
            target.write_text(page, encoding="utf-8")
            printed = print_pdf(target)
            print(f"{target} and .pdf" if printed else f"{target}: print it from a browser")
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
