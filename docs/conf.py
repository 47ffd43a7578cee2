"""The documentation site: `make docs` builds it into build/docs/html/."""

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from docs.extension import execution_cache  # noqa: E402

project = "prism_explore"
author = "the prism_explore authors"
version = release = version_of("prism-explore")
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "docs.extension"]
exclude_patterns = ["notebooks/solutions", "notebooks/recordings", "notebooks/**/.ipynb_checkpoints"]
nitpicky = True
nitpick_ignore_regex = [
    # Types of other projects, whose reference is on other hosts.
    ("py:class", r"(collections|concurrent|fractions|networkx|numpy|pathlib|torch)\..*"),
    # Types of annotations that no public name returns, and aliases of types.
    ("py:class", r"prism_explore\.[a-z_]+\..*"),
    ("py:class", r"[A-Z]\w*|dict\[str"),
]
default_role = "code"  # docstrings write `code`
toc_object_entries_show_parents = "hide"

# Pages. No math: a page with formulas would load MathJax from another host.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# The notebooks, and the pages with code cells, are run once per version of the package.
nb_custom_formats = {".ipynb": "docs.extension.read_chapter"}
nb_execution_mode = "cache"
nb_execution_cache_path = str(execution_cache(ROOT / "build" / "docs" / "outputs"))
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_ipywidgets_js = {}  # it would be loaded from another host; nothing here needs it
os.environ["PRISM_EXPLORE_DISPLAY"] = "html"  # widgets need a kernel
os.environ["PRISM_EXPLORE_CACHE"] = "off"  # what the pages show was computed for them

# Kernels without the profile of whoever builds. They talk to this machine only, so an unencrypted port is no warning.
profile = ROOT / "build" / "docs" / "ipython" / "profile_default"
profile.mkdir(parents=True, exist_ok=True)
(profile / "ipython_kernel_config.py").write_text("get_config().IPKernelApp.log_level = 'ERROR'\n", encoding="utf-8")
os.environ["IPYTHONDIR"] = str(profile.parent)

# The reference.
autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseException, Mapping, Sequence, object, tuple",
    "member-order": "bysource",
}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_display_short_literal_types = True
viewcode_line_numbers = True

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = "prism_explore"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["theme.js"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
