// What the theme keeps in the browser, by this site's address. The theme has it inline; the policy allows files only.
// The root is told by this file's own address: it lies in the folder `assets`.
const root = new URL("..", document.currentScript.src);
window.__md_scope = root;
window.__md_hash = (text) => [...text].reduce((sum, letter) => (sum << 5) - sum + letter.charCodeAt(0), 0);
window.__md_get = (key, storage = localStorage, scope = root) => JSON.parse(storage.getItem(scope.pathname + "." + key));
window.__md_set = (key, value, storage = localStorage, scope = root) => {
  try {
    storage.setItem(scope.pathname + "." + key, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing shows the palette of the system.
  }
};
