"""HTML pages that open from a file, without a server or a network.

chart.py: pictures of charts, drawn without a network.
page.py: puts data into a page safely, with a policy that lets only its own script run.
svg.py: size and letters of pictures that Vega drew.
assets/: templates, styles and scripts of the pages.
"""
