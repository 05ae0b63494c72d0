"""German and English sentences with one meaning, drawn from a small grammar.

What a translator must learn here: der, die and das; the accusative; endings of adjectives; the
verb second after a word of time, and last behind a modal verb, a participle or weil.
"""

import random


def table(text):
    """Return the entries of a table below; "_" joins the words of one cell."""
    entries = (entry.split() for entry in text.replace("\n", "|").split("|"))
    return [[cell.replace("_", " ") for cell in row] for row in entries if row]


# German, gender, German plural, English, English plural; none changes in the singular.
NOUNS = table("""
Mann m Männer man men|Frau f Frauen woman women|Kind n Kinder child children
Hund m Hunde dog dogs|Katze f Katzen cat cats|Pferd n Pferde horse horses
Vogel m Vögel bird birds|Maus f Mäuse mouse mice|Schaf n Schafe sheep sheep
Lehrer m Lehrer teacher teachers|Ärztin f Ärztinnen doctor doctors|Mädchen n Mädchen girl girls
Tisch m Tische table tables|Lampe f Lampen lamp lamps|Buch n Bücher book books
Apfel m Äpfel apple apples|Blume f Blumen flower flowers|Brot n Brote bread breads
Brief m Briefe letter letters|Tasche f Taschen bag bags|Bild n Bilder picture pictures
Wagen m Wagen car cars|Brücke f Brücken bridge bridges|Haus n Häuser house houses
Schlüssel m Schlüssel key keys|Tür f Türen door doors|Fenster n Fenster window windows
Stuhl m Stühle chair chairs|Uhr f Uhren clock clocks|Boot n Boote boat boats
""")
LIVING = 12  # the first nouns: only they see, carry or want something

# German infinitive (also the plural), he-form, participle; English infinitive, he-form, participle.
# Every verb takes an object, and its perfect is built with haben.
VERBS = table("""
sehen sieht gesehen see sees seen|hören hört gehört hear hears heard
suchen sucht gesucht seek seeks sought|finden findet gefunden find finds found
kaufen kauft gekauft buy buys bought|holen holt geholt fetch fetches fetched
malen malt gemalt paint paints painted|tragen trägt getragen carry carries carried
lieben liebt geliebt love loves loved|brauchen braucht gebraucht need needs needed
zeigen zeigt gezeigt show shows shown|nehmen nimmt genommen take takes taken
kennen kennt gekannt know knows known|bringen bringt gebracht bring brings brought
""")
ADJECTIVES = table("""
alt old|klein small|groß big|jung young|schön beautiful|rot red|grün green|neu new
blau blue|schwarz black|weiß white|braun brown|still quiet|schnell fast|leicht light|schwer heavy
""")
# German he-form and plural; English he-form and plural, in front of the infinitive
MODALS = table("will wollen wants_to want_to|kann können can can|muss müssen must must")
TIMES = table(
    "heute today|morgens in_the_morning|oft often|jetzt now|abends in_the_evening|immer always"
)

# Article and ending of the adjective: (definite, case), then gender or plural.
ARTICLES = {
    (True, "nominative"): {"m": "der e", "f": "die e", "n": "das e", "plural": "die en"},
    (True, "accusative"): {"m": "den en", "f": "die e", "n": "das e", "plural": "die en"},
    (False, "nominative"): {"m": "ein er", "f": "eine e", "n": "ein es"},
    (False, "accusative"): {"m": "einen en", "f": "eine e", "n": "ein es"},
}


def noun_phrase(draw, case):
    """Return an article, often an adjective, a noun, in both languages, and whether it's plural."""
    nouns = NOUNS[: LIVING if case == "nominative" else None]
    german, gender, german_plural, english, english_plural = draw.choice(nouns)
    plural, definite = draw.random() < 0.3, draw.random() < 0.6
    if plural:
        gender, german, english, definite = "plural", german_plural, english_plural, True
    article, ending = ARTICLES[definite, case][gender].split()
    if draw.random() < 0.5:
        stem, meaning = draw.choice(ADJECTIVES)
        german, english = f"{stem}{ending} {german}", f"{meaning} {english}"
    the = "the" if definite else "an" if english[0] in "aeiou" else "a"
    return f"{article} {german}", f"{the} {english}", plural


def clause(draw, subordinate=False, time=None):
    """Return a subject, a verb and an object, in both languages.

    time: the word of time, (German, English), that stands first.
    """
    subject, subject_en, many = noun_phrase(draw, "nominative")
    target, target_en, _ = noun_phrase(draw, "accusative")
    infinitive, he, participle, to, he_en, done = draw.choice(VERBS)
    form = draw.choice(("present", "modal", "perfect"))
    if form == "present":
        finite, last, english = (infinitive, "", to) if many else (he, "", he_en)
    elif form == "modal":
        one, all_, one_en, all_en = draw.choice(MODALS)
        finite, last = (all_ if many else one), infinitive
        english = f"{all_en if many else one_en} {to}"
    else:
        finite, last = ("haben" if many else "hat"), participle
        english = f"{'have' if many else 'has'} {done}"
    german = [subject, target, last, finite] if subordinate else [subject, finite, target, last]
    english = [subject_en, english, target_en]
    if time:
        german, english = [time[0], finite, subject, target, last], [time[1], *english]
    return " ".join(filter(None, german)), " ".join(english)


def sentence(draw):
    """Return one sentence in both languages."""
    time = draw.choice(TIMES) if draw.random() < 0.4 else None
    german, english = clause(draw, time=time)
    if draw.random() < 0.2:
        reason, reason_en = clause(draw, subordinate=True)
        german, english = f"{german}, weil {reason}", f"{english} because {reason_en}"
    return tuple(text[0].upper() + text[1:] + "." for text in (german, english))


def translations(count, seed=0):
    """Return `count` different sentences as {"de": …, "en": …}; one seed, one list."""
    draw, found = random.Random(seed), {}
    while len(found) < count:
        german, english = sentence(draw)
        found[german] = english
    return [{"de": german, "en": english} for german, english in found.items()]
