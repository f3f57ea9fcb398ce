// The search dialog of the theme has no name, which a screen reader needs.
document.querySelector('[data-md-component=search][role=dialog]')?.setAttribute('aria-label', 'Search');
