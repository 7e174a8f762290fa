"""HTML pages that open from a file, without a server or a network.

chart.py: pictures of charts, without a browser.
page.py: puts data into a page safely, with a policy that lets only its own script run.
pdf.py: a PDF with its objects in one order, so that equal pictures have equal bytes.
assets/: templates, styles and scripts of the pages.
"""
