// What works better with a script; all works without.
(() => {
  document.addEventListener('keydown', (press) => {
    if (press.key !== '/' || press.ctrlKey || press.altKey || press.metaKey) return;
    if (press.target.closest?.('input, select, textarea, [contenteditable]')) return;
    const line = document.getElementById('search');
    if (line) { press.preventDefault(); line.focus(); line.select(); }
  });
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
})();
