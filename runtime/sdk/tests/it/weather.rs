//! The plugin of the guide, as written there.

use roster_sdk::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Ask {
    city: String,
    #[serde(default)]
    days: u8,
}
#[derive(Serialize, JsonSchema)]
struct Forecast {
    summary: String,
    high: f32,
}
#[derive(Deserialize, JsonSchema)]
struct Config {
    units: String,
}

struct Weather {
    units: String,
}

impl Plugin for Weather {
    type Config = Config;
    fn create(_host: Host, c: Config) -> Result<Self> {
        Ok(Self { units: c.units })
    }
    fn register(r: &mut Registry<Self>) {
        r.tool("get_forecast", "Weather forecast for a city", |p, ask: Ask, cx| {
            cx.progress(0.1, "asking the station");
            if ask.city.is_empty() {
                return Err(Error::invalid("city is empty"));
            }
            Ok(Forecast { summary: format!("fair, {} ({})", ask.city, p.units), high: 21.5 })
        })
        .idempotent();
    }
}
export_plugin!(Weather, id = "com.example.weather", blocking = true);

mod contracts;
