"""Parts that every other room uses: files, text, numbers, links, values. Not a public interface."""
