// HTML of ours may be put into the page; scripts and addresses of scripts that were not there when it
// was loaded may not: this policy has no word for them, so that the browser refuses them.
if (window.trustedTypes) trustedTypes.createPolicy('default', { createHTML: (html) => html });
