// The site's OpenID provider in tests: node oidc_provider.mjs PORT REDIRECT [REDIRECT ...]
// Whoever signs in is who they say; their groups are what stands after a plus: anna+staff+chiefs.
import { Provider } from 'oidc-provider';

const [port, ...redirects] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: 'oborona', client_secret: 'a secret of ours', redirect_uris: redirects }],
  claims: {
    openid: ['sub'],
    profile: ['preferred_username', 'groups'],
    email: ['email', 'email_verified'],
  },
  conformIdTokenClaims: false,
  cookies: { keys: ['keys of a test'] },
  findAccount: (_ctx, id) => ({
    accountId: id,
    claims: () => {
      const [name, ...groups] = id.split('+');
      return {
        sub: id, preferred_username: name, groups,
        email: `${name}@shop.example`, email_verified: true,
      };
    },
  }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
