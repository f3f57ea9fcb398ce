"""Reports of finished work: `ackclock report FOLDER`, for studies, comparisons, suites and searches.

`document` has what a report consists of; `study`, `comparison`, `suite` and `search` make one from a folder; `folder`
decides which; `writing` writes the page, the tables, the figures, the paragraph on methods and the BibTeX file.
"""
