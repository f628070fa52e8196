import { PageTitle } from '@/app/PageTitle';
import classes from './Account.module.css';
import { SecondFactorSection } from './SecondFactorSection';
import { TokensSection } from './TokensSection';

/** One's own account: how one logs in, and what one's programs may do. */
export function AccountPage() {
  return (
    <>
      <div className={classes.title}>
        <PageTitle tab="Account">Your account</PageTitle>
      </div>
      <SecondFactorSection />
      <TokensSection />
    </>
  );
}
