//! The worker in which the engine runs.

fn main() {
    web::engine::start();
}
