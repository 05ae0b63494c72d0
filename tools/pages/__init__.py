"""The lab as static pages: lessons to read, and Python in the browser for what can be touched.

    markdown    a lesson's text as HTML, formulas as MathML
    lesson      a built notebook as an article, its timelines and questions alive again
    links       where a link of a lesson or a document leads on the site
    vendored    Pyodide, the type and the search library, fetched by their hashes
    engine      the lab's pure packages as one archive
    hero        the plan on the first page, and what processes measured of it
    front       the first page
    shell       the frame around every page
    write       all of it into a folder

`assets/` holds what a browser runs; `in_browser.py` is the Python that answers there.
"""
