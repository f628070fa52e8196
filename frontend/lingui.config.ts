import { defineConfig } from '@lingui/cli';
import { formatter } from '@lingui/format-po';

/**
 * The pages speak English in their sources; what they say in another language stands beside them, a
 * catalogue for each feature and one for what all share. Without the lines where a text stands: they
 * would change with every edit. The catalogues' names begin with a word, because the extractor passes
 * over a folder in which nothing but languages' names stand.
 */
export default defineConfig({
  sourceLocale: 'en',
  locales: ['zh'],
  format: formatter({ origins: false }),
  runtimeConfigModule: { Trans: ['@/i18n/Trans', 'Trans'] },
  catalogs: [
    {
      path: '<rootDir>/src/features/{name}/messages.{locale}',
      include: ['<rootDir>/src/features/{name}'],
      exclude: ['**/*.test.ts', '**/*.test.tsx'],
    },
    {
      path: '<rootDir>/src/i18n/messages.{locale}',
      include: ['api', 'app', 'i18n', 'lib', 'live', 'ui'].map((each) => `<rootDir>/src/${each}`),
      exclude: ['**/*.test.ts', '**/*.test.tsx'],
    },
  ],
});
