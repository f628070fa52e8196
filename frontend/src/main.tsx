import '@/app/styles';
import { startLanguage } from '@/i18n';

const root = document.getElementById('root');
const failed = document.getElementById('failed');
if (root === null || failed === null) throw new Error('index.html lacks #root or #failed');

try {
  // The pages' modules contain texts, so set the language before loading the first of them.
  await startLanguage();
  const { render: show } = await import('@/app/render');
  show(root);
} catch (error) {
  failed.hidden = false;
  for (const button of failed.querySelectorAll('button'))
    button.addEventListener('click', () => window.location.reload());
  throw error;
}
