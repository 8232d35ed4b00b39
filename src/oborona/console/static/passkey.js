// Passkeys: what the browser's authenticator answers is sent as a form; a page without a script says
// that one is needed.
(() => {
  const key = window.PublicKeyCredential;
  const able = key?.parseCreationOptionsFromJSON && key.parseRequestOptionsFromJSON;
  for (const form of document.querySelectorAll('form[data-passkey]')) {
    const told = form.querySelector('[role=status]');
    const { passkey, options, unable, failed } = form.dataset;
    told.textContent = able ? '' : unable;
    if (!able) continue;
    const button = form.querySelector('button');
    button.hidden = false;
    form.addEventListener('submit', async (send) => {
      send.preventDefault();
      button.disabled = true;
      told.textContent = '';
      try {
        const body = new URLSearchParams(new FormData(form));
        const asked = await fetch(options, { method: 'POST', body });
        const words = await asked.json();
        const answer = passkey === 'make'
          ? await navigator.credentials.create({ publicKey: key.parseCreationOptionsFromJSON(words) })
          : await navigator.credentials.get({ publicKey: key.parseRequestOptionsFromJSON(words) });
        form.elements.answer.value = JSON.stringify(answer.toJSON());
        form.submit();
      } catch {
        told.textContent = failed;
        button.disabled = false;
      }
    });
  }
})();
