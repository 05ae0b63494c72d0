"""The words of the generated sentences: ordinary German and English, in the forms that are needed.

Every noun has its gender and both plurals; no noun that changes in the singular (der Student, den
Studenten) is here. Every verb takes an object, and its perfect is built with haben.
"""

# German, gender, German plural, English, English plural
NOUNS = """
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
"""
LIVING = 12  # the first nouns: only they see, carry or want something

# German infinitive (also the plural), he-form, participle; English infinitive, he-form, participle
VERBS = """
sehen sieht gesehen see sees seen|hören hört gehört hear hears heard
suchen sucht gesucht seek seeks sought|finden findet gefunden find finds found
kaufen kauft gekauft buy buys bought|holen holt geholt fetch fetches fetched
malen malt gemalt paint paints painted|tragen trägt getragen carry carries carried
lieben liebt geliebt love loves loved|brauchen braucht gebraucht need needs needed
zeigen zeigt gezeigt show shows shown|nehmen nimmt genommen take takes taken
kennen kennt gekannt know knows known|bringen bringt gebracht bring brings brought
"""

ADJECTIVES = """
alt old|klein small|groß big|jung young|schön beautiful|rot red|grün green|neu new
blau blue|schwarz black|weiß white|braun brown|still quiet|schnell fast|leicht light|schwer heavy
"""

# German he-form and plural; English he-form and plural, in front of the infinitive
MODALS = "will wollen wants_to want_to|kann können can can|muss müssen must must"

TIMES = "heute today|morgens in_the_morning|oft often|jetzt now|abends in_the_evening|immer always"


def rows(table: str) -> list[list[str]]:
    """The entries of a table above; "_" joins the words of one cell."""
    cells = (entry.split() for entry in table.replace("\n", "|").split("|"))
    return [[cell.replace("_", " ") for cell in row] for row in cells if row]
