import { PageTitle } from '@/app/PageTitle';
import { SecondFactorSection } from './SecondFactorSection';
import { TokensSection } from './TokensSection';

/** One's own account: how one logs in, and what one's programs may do. */
export function AccountPage() {
  return (
    <>
      <div style={{ marginBottom: '1rem' }}>
        <PageTitle tab="Account">Your account</PageTitle>
      </div>
      <SecondFactorSection />
      <TokensSection />
    </>
  );
}
