// The editor of drafts: numbers of lines, links to them, a word before what was typed is left.
(() => {
  const text = document.getElementById('text');
  const numbers = document.getElementById('numbers');
  const lint = document.getElementById('lint');
  if (!text || !numbers || !lint) return;
  const saved = 'unsaved' in text.dataset ? null : text.value;
  let leaves = false;
  const count = () => {
    const wanted = text.value.split('\n').length;
    for (let n = numbers.childElementCount + 1; n <= wanted; n += 1) {
      const line = document.createElement('span');
      line.id = `line-${n}`;
      line.textContent = n;
      numbers.append(line);
    }
    while (numbers.childElementCount > wanted) numbers.lastElementChild.remove();
    text.rows = wanted + 2;
  };
  const go = (line, column) => {
    const before = text.value.split('\n').slice(0, line - 1);
    const start = before.reduce((sum, one) => sum + one.length + 1, 0);
    text.focus();
    text.setSelectionRange(start + Math.max(column - 1, 0), start + (text.value.split('\n')[line - 1] || '').length);
    document.getElementById(`line-${line}`)?.scrollIntoView({ block: 'center' });
  };
  text.addEventListener('input', count);
  count();
  lint.addEventListener('click', (click) => {
    const link = click.target.closest?.('[data-line]');
    if (!link) return;
    click.preventDefault();
    go(Number(link.dataset.line), Number(link.dataset.column));
  });
  new MutationObserver(() => {
    text.setAttribute('aria-invalid', String(Boolean(lint.querySelector('[data-wrong]'))));
  }).observe(lint, { childList: true, subtree: true });
  text.form?.addEventListener('submit', () => { leaves = true; });
  addEventListener('beforeunload', (leave) => {
    if (!leaves && text.value !== saved) leave.preventDefault();
  });
})();
