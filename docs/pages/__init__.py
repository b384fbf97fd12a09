"""What the generated pages say: each module makes some of them from the package's own data, as Markdown text."""
