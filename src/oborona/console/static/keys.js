// What works better with a script; all works without.
(() => {
  document.addEventListener('keydown', (press) => {
    if (press.ctrlKey || press.altKey || press.metaKey || press.repeat) return;
    if (press.target.closest?.('input:not([type=checkbox]), select, textarea, [contenteditable]')) {
      if (press.key === 'Escape') press.target.blur();
      return;
    }
    if (press.key.length !== 1) return;
    const line = press.key === '/'
      ? document.getElementById('search')
      : document.querySelector(`[aria-keyshortcuts="${CSS.escape(press.key)}"]`);
    if (!line) return;
    press.preventDefault();
    if (line.matches('input, textarea')) { line.focus(); line.select(); } else line.click();
  });
  document.querySelector('form.stacked > .field > #reason')?.focus();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) {
    document.cookie = `oborona-zone=${zone}; path=/; max-age=31536000; samesite=lax; secure`;
  }
  document.addEventListener('click', async (click) => {
    const button = click.target.closest?.('[data-copy]');
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy || location.href);
    button.classList.add('copied');
  });
  // a page that says so is brought up to date while somebody looks at it and reads nothing opened
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  setInterval(() => {
    const live = document.querySelector('[data-live]');
    if (!live || document.hidden || still.matches) return;
    if (live.contains(document.activeElement) || live.querySelector('details[open]')) return;
    live.dispatchEvent(new Event('live'));
  }, 30000);
  // newer mail is told of while somebody looks
  setInterval(() => {
    if (!document.hidden) document.querySelector('[data-follow]')?.dispatchEvent(new Event('follow'));
  }, 5000);
})();
