"""Settings of the documentation site; docs/build.py copies the pages here and runs Sphinx."""

project = "userturn"
copyright = "The userturn contributors"
extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4  # links to headings, as GitHub makes them
root_doc = "docs/index"
exclude_patterns = ["docs/figures", "extra"]
html_theme = "furo"
html_title = "userturn"
html_extra_path = ["extra"]  # the example study
html_static_path: list[str] = []
html_show_sphinx = False
copybutton_prompt_text = "$ "
